#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9", "uv"]
# ///
"""The jobs that a change must pass: ``nox -l`` lists them, ``nox -s NAME`` runs one.

`.ci/run` runs them all on a new Linux machine; the workflows run them on a forge.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
#: What other calibration packages give is compared with what ogive gives.
PEERS = [
    "netcal", "torchmetrics", "uncertainty-calibration", "relplot", "mapie", "betacal",
    "splinecalib", "venn-abers", "probmetrics", "numba", "polars", "mcgrad", "fairlearn",
    "KDEpy",
]  # fmt: skip
#: A run of the tests with other versions needs few random cases, and no pages: those show what new
#: versions print.
AGAIN = ["tests", "src", "--hypothesis-profile=few"]
#: What may depend on Python itself: doctests, commands, files, estimators. `nox -s tests` runs all.
OF_PYTHON = [
    "src", "tests/cli", "tests/readers", "tests/estimators", "tests/export/test_artifact.py",
    "tests/export/test_to_python.py", "tests/test_files.py", "tests/test_public_api.py",
    "--hypothesis-profile=few",
]  # fmt: skip

# pyenv hides the interpreters that are not its default behind names that fail: look before them.
_PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
_HIDDEN = [str(p / "bin") for v in PYTHONS for p in (_PYENV / "versions").glob(f"{v}.*")]
_PATH = os.environ["PATH"].split(os.pathsep)
_AT = _PATH.index(str(_PYENV / "shims")) if str(_PYENV / "shims") in _PATH else len(_PATH)
os.environ["PATH"] = os.pathsep.join([*_PATH[:_AT], *_HIDDEN, *_PATH[_AT:]])


def is_here(version: str) -> bool:
    """Return whether this Python can be run, or uv can install it."""
    here = shutil.which(f"python{version}")
    uv = str(Path(sys.executable).with_name("uv"))
    command = [here, "--version"] if here else [uv, "python", "install", version]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with the newest versions of what ogive needs."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)
    if not session.posargs:
        session.run("pytest", "-m", "thorough")


@nox.session(python=PYTHONS, default=False)
def pythons(session: nox.Session) -> None:
    """Run what may depend on Python itself, on a Python beside the one that ran all tests."""
    session.install("-e", ".[test]")
    session.run("pytest", *OF_PYTHON, *session.posargs)
    session.run("pytest", "-m", "thorough", "tests/cli", *session.posargs)  # signals


@nox.session(python=PYTHONS, venv_backend="uv", default=False)
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", "-e", ".[test,onnx]")
    session.run("pytest", *AGAIN, *session.posargs)
    files = ["tests/readers", "tests/engines", "tests/export/test_hostile.py"]
    session.run("pytest", "-m", "thorough", *files, *session.posargs)  # damaged files, memory


@nox.session(venv_backend="venv", default=False)
def parts(session: nox.Session) -> None:
    """Run the tests that need a browser, a database, Java or a framework; none may be skipped.

    Chromium, PostgreSQL and Java come from the system, and the site from the job `docs`.
    """
    session.install("torch==2.13.0")
    session.install(
        "-e", ".[test,dask,spark,onnx,torch]", "-r", ".ci/engines.txt",
        "playwright", "axe-playwright-python", *PEERS,
    )  # fmt: skip
    env = {"SPARK_LOCAL_IP": "127.0.0.1"}
    if Path("build/site").exists():
        env["OGIVE_SITE"] = str(Path("build/site").resolve())
    session.run("pytest", "-m", "not slow", "--no-skips", *session.posargs, env=env)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and types."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site; a broken link or an example that fails is an error."""
    session.install("-e", ".[docs]")
    session.run("python", "-m", "docs", "build")


@nox.session
def package(session: nox.Session) -> None:
    """Build the sdist and the wheel, check them, and use the wheel as a user would.

    ``nox -s package -- DIST`` builds into a folder of that name.
    """
    work = Path(session.create_tmp()).resolve()
    folder = Path(session.posargs[0]).resolve() if session.posargs else work
    for old in folder.glob("ogive-*"):
        old.unlink()
    session.install("build", "twine")
    session.run("python", "-m", "build", "--outdir", str(folder))
    built = sorted(str(path) for path in folder.glob("ogive-*"))
    session.run("twine", "check", "--strict", *built)
    session.run("python", "tests/contents.py", *built)
    (wheel,) = folder.glob("*.whl")
    fresh = work / "fresh"
    programs = fresh / ("Scripts" if sys.platform == "win32" else "bin")
    session.run("python", "-m", "venv", "--clear", str(fresh))
    python, ogive = str(programs / "python"), str(programs / "ogive")
    session.run(python, "-m", "pip", "install", "-q", f"{wheel}[cli]", external=True)
    smoke = Path("tests/smoke.py").resolve()
    session.chdir(work)  # where no source is
    session.run(ogive, "demo", external=True)
    session.run(python, str(smoke), external=True)


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Measure which lines and branches the tests reach, and list those they do not."""
    session.install("-e", ".[test,onnx,dask]", "pytest-cov", "-r", ".ci/engines.txt")
    options = ["--cov", "--cov-report=term-missing:skip-covered", "--cov-fail-under=95"]
    session.run("pytest", "-m", "not slow", *options, *session.posargs)


if __name__ == "__main__":
    nox.main()
