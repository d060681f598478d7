"""``python -m tests.golden update``: write the results as they are now, and say what changed."""

import sys
import tempfile

from tests.golden.calls import STORIES, tell
from tests.golden.kept import FOLDER, Kept


def update():
    """Write all results; a file of a call that is no more goes."""
    current = set()
    for story in STORIES:
        with tempfile.TemporaryDirectory() as folder:
            for name, (call, values) in tell(story, folder).items():
                kept = Kept.read(name, call)
                for change in kept.changes(values):
                    print(change)
                kept.write(values)
                current.add(kept.path)
    for path in set(FOLDER.glob("*.json")) - current:
        print(f"{path.name} is gone")
        path.unlink()


if __name__ == "__main__":
    if sys.argv[1:] != ["update"]:
        sys.exit(__doc__)
    update()
