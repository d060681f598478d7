"""The package page: README.md without the links and pictures that lead into a checkout."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_ELSEWHERE = r"(?!https?:|#)[^)\s]+"
_PICTURE = re.compile(rf"^!\[[^]]*\]\({_ELSEWHERE}\)\n\n?", re.MULTILINE)
_LINK = re.compile(rf"\[([^]]+)\]\({_ELSEWHERE}\)")


class PackagePage(MetadataHookInterface):
    """What a package index shows of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Give the page to the build."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page = _LINK.sub(r"\1", _PICTURE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
