"""List what an sdist and a wheel hold, and refuse more or less: ``python tests/contents.py FILE…``.

The wheel holds the package as it is in ``src`` and its metadata. The sdist holds what git keeps of
the folders below, so that the tests run and the site builds from it.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
#: Of this checkout, what only a checkout needs.
NOT_IN_THE_SDIST = (".github/", ".pre-commit-config.yaml")
#: The files that the build adds.
ADDED = {"PKG-INFO"}


def kept():
    """Return the names of the files that git keeps here, or would, with ``/`` on every system."""
    if not (ROOT / ".git").exists():  # unpacked, not cloned
        ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()}
        files = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        return {path.as_posix() for path in files if not ignored.intersection(path.parts)}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}


def in_wheel(path):
    """Return the names in a wheel, and those that should be in it."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        (info,) = {PurePosixPath(name).parts[0] for name in names if ".dist-info/" in name}
        page = archive.read(f"{info}/METADATA").decode("utf-8").partition("\n\n")[2]
    assert page.startswith("# ogive"), page[:80]
    assert not re.search(r"\]\((?!http)", page), "the package page has links that lead nowhere"
    package = {name.removeprefix("src/") for name in kept() if name.startswith("src/ogive/")}
    return names, package | {f"{info}/{name}" for name in METADATA}


def in_sdist(path):
    """Return the names in an sdist, and those that should be in it."""
    with tarfile.open(path) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
    names = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in names}
    return names, {name for name in kept() if not name.startswith(NOT_IN_THE_SDIST)} | ADDED


def main(paths):
    wrong = 0
    for path in map(Path, paths):
        names, wanted = in_wheel(path) if path.suffix == ".whl" else in_sdist(path)
        print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1e6:.1f} MB")
        folders = [name.rpartition("/")[0] or "." for name in names]
        for folder in sorted(set(folders)):
            print(f"  {folders.count(folder):4d} in {folder}")
        for name in sorted(names - wanted):
            print(f"  too much: {name}")
        for name in sorted(wanted - names):
            print(f"  missing: {name}")
        wrong += len(names ^ wanted)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
