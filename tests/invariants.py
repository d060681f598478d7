"""What must hold for every method, way to vectors and container, whatever the rows.

Each invariant is a function of a case and its answer that raises `AssertionError` with the case,
which reproduces it: ``python -c "from tests.invariants import *; check(Case(...))"``. `check_once`
draws a case from a seed.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np

from ogive import load, save
from ogive.export import to_python
from ogive.export.check import moved
from tests.answers import Answer, Rows, answer, applied
from tests.cases import ODIR, Case, draw, extreme_rows

#: Of log-odds of some tens, and of the sums behind a slope; a slope multiplies it.
ROUNDING = 1e-15
#: Probabilities agree to this where only the order of sums differs. Sums of 5,000 rows are right
#: to 1e-13; a search then ends within 1e-10, and the slope of a map multiplies that.
CLOSE = 1e-9
#: Scores that differ by a millionth of a log-odds ("tiny") have six digits fewer than others. That
#: shows in maps that rise from one score to the next by what neighbours differ in, and in factors
#: of single classes.
CLOSE_TINY = 1e-6
FROM_SCORE_TO_SCORE = {"isotonic", "paper-spline", "vector"}
#: Logits of seven digits are applied in float32 where nothing but the split among unlikely
#: classes depends on it: their probabilities have seven digits.
CLOSE_IN_FLOAT32 = 1e-6
#: Exports may be this far from the artifact: it is what every export promises.
CLOSE_EXPORT = 1e-9
#: Times a number that is no power of two every logit is rounded again, and ties are split.
SCALES = ((1e-6, 1e-6), (1e6, 1e-6))
#: A row of float64 probabilities adds up to 1 within K roundings.
SUM = 1e-12

#: These read the logits as they are: "none" calibrates nothing, and ODIR's penalties, as published,
#: have a scale. All else is fitted to the scale of the logits, and any scale gives the same answer.
ONE_SCALE = {"none", *ODIR}
#: Up to 12 classes the class structure is fitted to its last digits. With more, conjugate gradients
#: end where a bound is met. The order of rows and classes and copies of rows change no bit of what
#: they start from; where numbers are rounded again, as by another unit, a step may be added.
MOST_CLASSES_TO_THE_LAST_DIGIT = 12
CLOSE_BY_GRADIENTS, ROUNDED_AGAIN = 1e-4, ("times", "float16", "float32", "Python export")
#: ODIR's penalty leaves directions nearly flat where logits are saturated: there its search ends
#: within 1e-7 nats, which is up to 5e-7 in a probability.
CLOSE_ODIR = 1e-5
#: ODIR's folds are dealt by position, as published: another order of rows is another deal.
BY_POSITION = set(ODIR)


def expect(case, what, found, base, tolerance=CLOSE):
    """Two answers agree, or both were refused alike."""
    if found.refused or base.refused:
        if found.refused != base.refused:
            msg = f"{what}: refused as {found.refused!r}, before as {base.refused!r}, in {case}"
            raise AssertionError(msg)
        return
    if case.shape == "tiny" and case.method in FROM_SCORE_TO_SCORE:
        tolerance = max(tolerance, CLOSE_TINY)
    by_gradients = case.way in {"keep", "free"} and case.K > MOST_CLASSES_TO_THE_LAST_DIGIT
    if by_gradients and any(word in what for word in ROUNDED_AGAIN):
        tolerance = max(tolerance, CLOSE_BY_GRADIENTS)
    if case.method in ODIR:
        tolerance = max(tolerance, CLOSE_ODIR)
    tolerance = max(tolerance, ROUNDING * steepest(base.gamma))
    off = np.abs(found.probs - base.probs)
    if not off.max(initial=0.0) <= tolerance:
        at = np.unravel_index(int(np.nanargmax(off)), off.shape)
        msg = (
            f"{what}: {found.probs[at]!r}, not {base.probs[at]!r} (off by {off[at]:.3g}, "
            f"allowed {tolerance:g}) at {tuple(map(int, at))} in {case}"
        )
        raise AssertionError(msg)


def steepest(gamma):
    """Return the largest slope in log-odds of the maps of Platt and beta, which have no bound."""
    maps = getattr(gamma, "maps", (gamma,))
    slopes = [abs(getattr(each, name, 0.0)) for each in maps for name in ("slope", "a", "b")]
    return max(slopes, default=0.0)


def rows_permuted(case, base):
    if case.method not in BY_POSITION:
        at = np.random.default_rng([case.seed, 2]).permutation(case.n)
        expect(case, "rows permuted", answer(case, Rows(case).some(at)), base)


def ranks_are_distinct(values):
    """Whether no row has equal values, whose rank is the order of their columns."""
    ordered = np.sort(values, axis=1)
    return bool((ordered[:, 1:] > ordered[:, :-1]).all())


def classes_permuted(case, base):
    """Permuting columns permutes the answer: where no two classes of a row are alike.

    The rank of equal classes is the order of their columns; one against the rest and the matrix
    methods have no ranks, and need no such exception. One against the rest has one curve for two
    classes, that of the number given for class 1: where the two do not add up to 1, as rounded to
    float16 or float32, the number given for class 0 is another score.
    """
    if case.K == 1 or base.refused:
        return
    whole = (case.given.sum(axis=1) == 1.0).all() and (case.shown.sum(axis=1) == 1.0).all()
    if case.way == "ovr" and case.K == 2 and case.kind == "probs" and not whole:
        return
    ranked = case.way not in {"ovr", "matrix"}
    if ranked and not (ranks_are_distinct(case.given) and ranks_are_distinct(case.shown)):
        return
    order = np.random.default_rng([case.seed, 3]).permutation(case.K)
    place = np.argsort(order)
    rows = Rows(case, case.given[:, order], place[case.labels])
    found = answer(case, rows, case.shown[:, order])
    expect(case, f"classes permuted {order.tolist()}", _columns(found, place), base)


def _columns(found, order):
    return found if found.refused else Answer(found.gamma, found.probs[:, order])


def logits_shifted(case, base):
    """A constant added to a row's logits changes nothing; powers of two lose no digit."""
    if case.kind == "probs" or case.K == 1:
        return
    if case.shape not in {"tiny", "huge"}:  # where a shift would lose digits
        rng = np.random.default_rng([case.seed, 4])
        given, shown = (
            z + 64.0 * rng.integers(-2, 3, (len(z), 1)) for z in (case.given, case.shown)
        )
        expect(case, "logits shifted", answer(case, Rows(case, given), shown), base)


def logits_scaled(case, base):
    """Any scale gives the same answer. (A logit of −inf is put at a floor that has a scale.)

    One column of log-odds is a curve: it is the probability itself. Rows that give all classes the
    same value have no scale, and no answer about others can depend on it.
    """
    if case.kind == "probs" or case.shape == "zeros" or (case.K == 1 and case.way != "matrix"):
        return
    counted = case.given if case.weights is None else case.given[case.weights > 0]
    if case.K > 1 and (counted == counted[:, :1]).all():
        return
    if case.method not in ONE_SCALE:
        # Venn-Abers steps at the very scores of the fit: one that is rounded again, as by a factor
        # that is no power of two, may be on another side of a step.
        others = () if case.method == "venn-abers" else SCALES
        for scale, tolerance in ((2.0**-10, CLOSE), (2.0**10, CLOSE), *others):
            found = answer(case, Rows(case, scale * case.given), scale * case.shown)
            expect(case, f"logits times {scale:g}", found, base, tolerance)


def weight_2_is_twice(case, base):
    if case.weight_kind == "sampling" or case.method in BY_POSITION:
        return
    rng = np.random.default_rng([case.seed, 5])
    times = rng.integers(0, 4, case.n)
    times[0] = 2
    weighted = answer(case, Rows(case, weights=times.astype(float)))
    ones = Rows(case, weights=np.ones(case.n))
    ones.weights = None
    expect(
        case,
        "weight 2, row twice",
        weighted,
        answer(case, ones.some(np.repeat(range(case.n), times))),
    )


def weight_0_is_no_row(case, base):
    """Rows far away, of any label, with weight 0."""
    rng = np.random.default_rng([case.seed, 6])
    far = case.shown[: min(10, case.n)]
    if case.kind == "logits":
        far = np.concatenate([far, 50.0 * far])
    labels = rng.integers(0, case.classes, far.shape[0])
    weights = np.ones(case.n) if case.weights is None else case.weights
    rows = Rows(
        case,
        np.concatenate([far, case.given]),
        np.concatenate([labels, case.labels]),
        np.concatenate([np.zeros(labels.size), weights]),
    )
    expect(case, "rows of weight 0", answer(case, rows), base)


def sampling_weights_have_no_unit(case, base):
    if case.weight_kind == "sampling":
        for unit in (1e-3, 1e3):
            rows = Rows(case, weights=unit * case.weights)
            expect(case, f"sampling weights times {unit:g}", answer(case, rows), base)


def container_is_no_matter(case, base):
    """The same numbers in another container or type; float32 shows in vectors only."""
    tolerance = CLOSE if case.way == "score" or case.dtype == "float64" else CLOSE_IN_FLOAT32
    counted = case.labels if case.weights is None else case.labels[case.weights > 0]
    if case.container == "estimator" and np.unique(counted).size < 2:
        return  # scikit-learn's rules: a classifier refuses a single class
    found = answer(case, container=case.container, dtype=case.dtype)
    expect(case, f"as {case.container} of {case.dtype}", found, base, tolerance)


def probabilities_everywhere(case, base):
    """Finite, in [0, 1] and adding up to 1: on rows of the fit, on fresh and on extreme ones."""
    if base.refused:
        return
    for q in (base.probs, _extreme(case, base)):
        if not (np.isfinite(q).all() and (q >= 0.0).all() and (q <= 1.0).all()):
            raise AssertionError(f"no probabilities: {q[~((q >= 0) & (q <= 1))][:3]} in {case}")
        if q.ndim == 2 and np.abs(q.sum(axis=1) - 1.0).max() > SUM:
            raise AssertionError(f"rows do not add up to 1: {q.sum(axis=1)} in {case}")


def _extreme(case, base):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return applied(case, base.gamma, extreme_rows(case))
        except Exception as error:
            raise AssertionError(f"extreme rows: a foreign {error!r} in {case}") from error


def decision_is_kept(case, base):
    """The largest class stays, and after a cast to float32 too."""
    if case.way not in {"keep", "ranks"} or case.K == 1 or base.refused:
        return
    for rows, q in ((case.shown, base.probs), (extreme_rows(case), _extreme(case, base))):
        for cast in (np.float64, np.float32):
            moved = q.astype(cast).argmax(axis=1) != rows.argmax(axis=1)
            if moved.any():
                raise AssertionError(f"decision moved at {rows[moved][0]}, {cast} in {case}")


def impossible_stays(case, base):
    """A logit of −inf keeps probability 0, exactly, in whole vectors of every method."""
    if base.refused or case.way == "score" or case.kind == "probs":
        return
    for rows, q in ((case.shown, base.probs), (extreme_rows(case), _extreme(case, base))):
        own = q[:, 1] if case.K == 1 else q
        if own[rows == -np.inf].any():
            raise AssertionError(f"impossible classes get {own[rows == -np.inf].max()} in {case}")


def artifact_is_exact(case, base):
    if base.refused:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrator.json"
        save(base.gamma, path)
        again = load(path)
    if again != base.gamma or not np.array_equal(applied(case, again, case.shown), base.probs):
        raise AssertionError(f"the artifact is not the same after loading, in {case}")


def python_export_agrees(case, base):
    if base.refused or case.way != "score":
        return
    shown, extreme = case.shown[-8:], extreme_rows(case)
    values = np.concatenate([shown, extreme])
    wanted = np.concatenate([base.probs[-8:], _extreme(case, base)])
    names = {}
    text = to_python.write(base.gamma, kind=case.kind)
    exec(compile(text, "calibrator.py", "exec"), names)  # noqa: S102 - our own text
    calibrate = names["calibrate"]
    if case.kind == "logits":
        found = [calibrate(log_odds=float(x)) for x in values]
    else:
        found = [calibrate(score) for score in values.tolist()]
    # As `ogive export` checks it: where a map is so steep that the rounding of a score shows, the
    # answer lies between those of a map whose knots are moved by that rounding.
    ends = [applied(case, moved(base.gamma, side, exact=False), values) for side in (-1, 1)]
    steep = np.abs(np.array(ends) - wanted).max(axis=0)
    found = np.where(np.abs(found - wanted) <= steep, wanted, found)
    expect(case, "Python export", Answer(None, found), Answer(base.gamma, wanted), CLOSE_EXPORT)


INVARIANTS = (
    probabilities_everywhere,
    decision_is_kept,
    impossible_stays,
    rows_permuted,
    classes_permuted,
    logits_shifted,
    logits_scaled,
    weight_2_is_twice,
    weight_0_is_no_row,
    sampling_weights_have_no_unit,
    container_is_no_matter,
    artifact_is_exact,
    python_export_agrees,
)


def check(case: Case) -> None:
    """Check all invariants of one case."""
    base = answer(case)
    for invariant in INVARIANTS:
        invariant(case, base)


def check_once(seed: int) -> str:
    """Draw a case from the seed, check all invariants that apply, and return the case's name."""
    case = draw(np.random.default_rng(seed))
    check(case)
    return case.name
