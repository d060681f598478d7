"""Fitted calibrators of whole vectors: predictions in, calibrated probabilities out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive._numerics.logistic import expit
from ogive.calibrators.impossible import keep_impossible
from ogive.calibrators.maps import Fitted
from ogive.errors import DoesNotApply, InvalidInput
from ogive.rows.predictions import check_predictions

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.maps import Band
    from ogive.rows.predictions import Predictions

_TWO = 2
_LEAST = 1e-300  # instead of a probability of 0


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
            The class, where there are two, or with ``"ovr"``. Default: the most probable class of
            each row.
        simultaneous : bool
            See `band_ends`.

        Notes
        -----
        Of three classes or more the band is that of the map of the most probable class, at the
        score that this class has before that map. With ``"ovr"`` every class has a map: see
        `share_between`.
        """
        bands = self._class_bands(preds, simultaneous=simultaneous)
        if bands is not None:
            return share_between(*bands, self(preds).argmax(axis=1) if of is None else of)
        if of is not None and self.K > _TWO:
            msg = "of three classes or more, only the most probable class has a band."
            raise DoesNotApply(msg)
        every = [q(preds) for q in (self, *self.band_ends(simultaneous=simultaneous))]
        top = every[0].argmax(axis=1) if of is None else np.full(preds.n, of)
        # At another base rate an end may lie on either side, or both on one where "keep" caps.
        own = [q[np.arange(preds.n), top] for q in every]
        return np.minimum.reduce(own), np.maximum.reduce(own)

    def _class_bands(
        self,
        preds: Predictions,  # noqa: ARG002
        *,
        simultaneous: bool,  # noqa: ARG002
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return all classes and the ends of their bands, (N, K), before rows are divided."""
        return None

    @abstractmethod
    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        """Return the calibrated probabilities of some rows, (rows, K)."""


def share_between(
    middle: FloatArray, low: FloatArray, high: FloatArray, of: IntArray | int
) -> Band:
    r"""Return the ends of a class's share of the sum, (N,) each, given the bands of all classes.

    In log-odds the share is :math:`\log m_k - \log \sum_{j \ne k} m_j`, which rises with its own
    class and falls with the others. Half the interval is the root of the sum of squares of what
    each class moves it by, from its value to the end of its band (the delta method, with steps).

    middle, low, high : (N, K) values and the ends of their bands, before rows are divided by sums
    of : the class, or that of each row
    """
    rows = np.arange(middle.shape[0])
    others = middle.copy()
    others[rows, of] = 0.0
    total = np.maximum(others.sum(axis=1, keepdims=True), _LEAST)
    mine = np.maximum(middle[rows, of], _LEAST)
    share, halves = np.log(mine) - np.log(total[:, 0]), []
    for own, far in ((low, high), (high, low)):
        moved = np.log(np.maximum(total + far - middle, _LEAST)) - np.log(total)
        moved[rows, of] = np.log(np.maximum(own[rows, of], _LEAST)) - np.log(mine)
        halves.append(np.sqrt((moved**2).sum(axis=1)))
    return expit(share - halves[0]), expit(share + halves[1])


def check_classes(preds: Predictions, K: int) -> None:
    """Check that predictions have as many classes as the calibrator was fitted on."""
    check_predictions(preds)
    if preds.K != K:
        msg = f"`preds` has {preds.K} classes, but the calibrator was fitted on {K}."
        raise InvalidInput(msg)
