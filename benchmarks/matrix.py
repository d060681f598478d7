"""The whole cross-validation of ODIR, and vector scaling: minutes, so only when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import samples
from benchmarks.race import Race
from ogive import Predictions, fit_dir_odir, fit_ms_odir, fit_temperature, fit_vector

if TYPE_CHECKING:
    from collections.abc import Iterator


def races() -> Iterator[Race]:
    """Yield a race for each number of classes; the unit is the temperature."""
    for K in (10, 100):
        preds = Predictions(*samples.logits(5_000, K), kind="logits")
        yield Race(
            "odir",
            f"Matrix methods at 5,000 x {K}, with their whole cross-validation",
            {
                "ogive: temperature": lambda preds=preds: fit_temperature(preds),
                "ogive: vector": lambda preds=preds: fit_vector(preds),
                "ogive: ms-odir": lambda preds=preds: fit_ms_odir(preds),
                "ogive: dir-odir": lambda preds=preds: fit_dir_odir(preds),
            },
            seconds=1.0,
        )
