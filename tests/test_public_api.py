"""The public names: all there, all documented, and light to import."""

import subprocess
import sys

import pytest

import ogive

HEAVY = ("scipy", "sklearn", "pandas", "matplotlib", "pyarrow", "torch", "click", "rich")


def test_names_and_rooms_agree():
    assert sorted(ogive._MODULES) == sorted(ogive.__all__)
    assert sorted(ogive.__all__) == list(ogive.__all__)


@pytest.mark.parametrize("name", ogive.__all__)
def test_every_public_name_exists_and_says_what_it_is(name):
    assert getattr(ogive, name).__doc__
    assert name in dir(ogive)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'ece_error'"):
        ogive.ece_error  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, ogive; ogive.Curve; ogive.Predictions; ogive.ks_error; "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


def test_rooms_are_attributes():
    code = (
        "import ogive; ogive.export.artifact.load_fitted_on; ogive.studies.fitted_on.fitted_on; "
        "ogive.metrics.vector.vector_rows; ogive.export.to_torch.module; ogive.diagrams"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
    with pytest.raises(AttributeError, match=r"'ogive.export' has no attribute 'doors'"):
        ogive.export.doors  # noqa: B018
