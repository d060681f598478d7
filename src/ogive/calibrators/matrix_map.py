"""Fitted calibrators of whole vectors: predictions in, calibrated probabilities out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive.calibrators.impossible import keep_impossible
from ogive.calibrators.maps import Fitted
from ogive.errors import DoesNotApply, InvalidInput
from ogive.predictions import check_predictions

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.maps import Band
    from ogive.predictions import Predictions

_TWO = 2


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MatrixMap(Fitted):
    """A fitted map of whole vectors: call it on predictions with as many classes.

    Attributes
    ----------
    K : int
        The number of classes.
    impossible : {None, "zero"}
        Whether a given probability of 0 stays 0, as a logit of −inf always does.
    """

    #: Whether the top class has a map of its own, whose probability it keeps.
    keeps_top: ClassVar[bool] = False

    K: int
    impossible: Impossible = None

    def __call__(self, preds: Predictions, *, n_jobs: int | None = None) -> FloatArray:
        """Return the calibrated probabilities, (N, K) float64; every row sums to 1."""
        check_classes(preds, self.K)
        result = self._calibrated(preds, n_jobs)
        return keep_impossible(preds, result, self.impossible, keeps_top=self.keeps_top)

    def _calibrated(self, preds: Predictions, n_jobs: int | None) -> FloatArray:
        """Return calibrated probabilities; impossible classes may have some."""
        result = np.empty((preds.n, self.K))

        def work(at: slice) -> None:
            result[at] = self._block(preds, at)

        for_each_block(work, preds.n, width=self.K, n_jobs=n_jobs)
        return result

    def interval(
        self, preds: Predictions, *, of: int | None = None, simultaneous: bool = False
    ) -> Band:
        """Return the ends of the 95 % band of a class's probability, (N,) each.

        Parameters
        ----------
        preds : Predictions
        of : int, optional
            The class, where there are two. Default: the most probable class of each row.
        simultaneous : bool
            See `band_ends`.

        Notes
        -----
        Of three classes or more the band is that of the map of the most probable class, at the
        score that this class has before that map.
        """
        if of is not None and self.K > _TWO:
            msg = "of three classes or more, only the most probable class has a band."
            raise DoesNotApply(msg)
        ends = [end(preds) for end in self.band_ends(simultaneous=simultaneous)]
        top = self(preds).argmax(axis=1) if of is None else np.full(preds.n, of)
        low, high = (q[np.arange(preds.n), top] for q in ends)
        return np.minimum(low, high), np.maximum(low, high)

    @abstractmethod
    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        """Return the calibrated probabilities of some rows, (rows, K)."""


def check_classes(preds: Predictions, K: int) -> None:
    """Check that predictions have as many classes as the calibrator was fitted on."""
    check_predictions(preds)
    if preds.K != K:
        msg = f"`preds` has {preds.K} classes, but the calibrator was fitted on {K}."
        raise InvalidInput(msg)
