"""The parts of the package and their levels, as ARCHITECTURE.md shows them."""

# The level of each part: ARCHITECTURE's table. Parts on one level do not import one another,
# except inside a folder and where a pair is listed in SIDEWAYS.
LEVELS = [
    {"errors", "_typing", "_html", "_lazy", "_wording"},
    {"_files", "_numerics"},
    {"rows"},
    {"curve"},
    {"metrics", "calibrators"},
    {"readers", "export", "diagrams"},
    {"engines"},
    {"studies"},
    {"plotting"},
    {"report"},
    {"estimators"},
    {"cli"},
]
SIDEWAYS = set()
MOST_SIDEWAYS = 4
LEVEL = {part: level for level, parts in enumerate(LEVELS) for part in parts}
