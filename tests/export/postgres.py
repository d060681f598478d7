"""A PostgreSQL of our own: a temporary cluster on a Unix socket, for as long as a test runs."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


def programs():
    """The folder of initdb and pg_ctl, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@contextmanager
def cluster():
    """Start a cluster and give the connection string; it refuses to run as root, so we change."""
    import pwd  # not on Windows, where there is no such cluster

    folder = tempfile.mkdtemp(prefix="pg")  # short: the path of a socket has a limit
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    as_user = ["runuser", "-u", user, "--"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, user)
    data, tools = f"{folder}/data", programs()

    def run(*words):
        words = [*as_user, *words]
        subprocess.run(words, check=True, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603

    try:
        run(f"{tools}/initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(f"{tools}/pg_ctl", "-D", data, "-w", "-o", options, "-l", f"{folder}/log", "start")
        try:
            yield f"host={folder} user={user} dbname=postgres"
        finally:
            run(f"{tools}/pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
