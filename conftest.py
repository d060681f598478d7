"""Examples in README and docs may write files: each runs in a folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def _folder_for_examples(request, monkeypatch, tmp_path):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
