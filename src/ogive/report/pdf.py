"""The short form of a page as PDF, printed by a Chromium of this machine; nothing is loaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ogive._files import replacing
from ogive.errors import MissingExtra, OgiveError

#: Programs that print pages, in the order they are looked for.
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
#: Where browsers are that no PATH leads to.
_ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_SECONDS_TO_PRINT = 60  # a page takes one or two
NO_BROWSER = (
    "a PDF is printed by Chromium or Chrome, and none was found. Install one (apt install "
    "chromium, or pip install playwright && playwright install chromium), or write .html and "
    "print it from a browser."
)
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no name is looked up, so no host is reached
)


def find_browser() -> str:
    """Return the program that prints pages.

    It is what CHROMIUM names, on the PATH, in its usual folder, or playwright's.
    """
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    found = found or next((name for name in _ELSEWHERE if Path(name).is_file()), None)
    found = found or _of_playwright()
    if found is None:
        raise MissingExtra(NO_BROWSER)
    return found


def _of_playwright() -> str | None:
    """Return the Chromium that playwright has installed, if there is one."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an optional package
    except ImportError:
        return None
    with sync_playwright() as driver:
        path = Path(driver.chromium.executable_path)
    shells = path.parents[2].glob("chromium_headless_shell-*/*/*headless*shell*")
    return next((str(one) for one in (path, *sorted(shells)) if one.is_file()), None)


def write_pdf(page: str, path: str | os.PathLike[str]) -> None:
    """Print a page of HTML; a file being replaced stays whole."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="ogive-") as name, replacing(path) as beside:
        folder = Path(name)
        (folder / "page.html").write_text(page, encoding="utf-8")
        printed = folder / "page.pdf"
        command = [
            browser,
            *_OPTIONS,
            *(["--no-sandbox"] if _is_root() else []),
            f"--user-data-dir={folder / 'profile'}",
            f"--print-to-pdf={printed}",
            (folder / "page.html").as_uri(),
        ]
        try:
            done = subprocess.run(  # noqa: S603 - a browser of this machine, and our own page
                command, capture_output=True, timeout=_SECONDS_TO_PRINT, check=False
            )
            why = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        except (OSError, subprocess.TimeoutExpired) as error:
            why = [str(error)]
        if not printed.is_file():
            reason = f": {why[0]}" if why else ""
            msg = f"{browser} did not print the page{reason}. Write .html and print that."
            raise OgiveError(msg)
        shutil.copyfile(printed, beside)


def _is_root() -> bool:
    """Return whether this is the user for whom Chromium has no sandbox."""
    return sys.platform != "win32" and os.geteuid() == 0
