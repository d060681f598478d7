import warnings

import numpy as np
import pytest
from hypothesis import given

from ogive import Predictions
from ogive.errors import InvalidInput, InvalidType, LooksLikeProbabilities, UnknownName
from tests import naive, strategies

LOGITS = [[2.0, 0.0, -1.0], [0.0, 1.0, 0.5]]


@pytest.mark.filterwarnings("ignore::ogive.errors.LooksLikeProbabilities")
@given(strategies.matrices())
def test_probabilities_are_the_softmax(data):
    logits, labels = data
    preds = Predictions(logits, labels, kind="logits")
    np.testing.assert_allclose(
        preds.probabilities(), naive.softmax(logits).astype(float), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_float_type_is_taken_as_it_is(dtype):
    values = np.array(LOGITS, dtype=dtype)
    preds = Predictions(values, [0, 1], kind="logits")
    assert preds.values is values
    assert preds.probabilities().dtype == np.float64


def test_anything_with_an_array_goes_in():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.array(LOGITS)

    assert Predictions(Tensor(), (0, 1), kind="logits").n == 2


def test_integers_are_logits_too():
    assert Predictions([[3, 0], [0, 1]], [0, 1], kind="logits").K == 2


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64, np.bool_, float]
)
def test_integer_labels_are_column_indices(dtype):
    preds = Predictions(LOGITS, np.array([0, 1], dtype=dtype), kind="logits")
    assert preds.labels.tolist() == [0, 1]
    assert preds.classes.tolist() == [0, 1, 2]


def test_missing_classes_keep_their_columns():
    preds = Predictions([[0.0, 0, 0, 0]] * 3, [3, 1, 1], kind="logits")
    assert preds.classes.size == 4
    assert preds.labels.tolist() == [3, 1, 1]


def test_names_are_sorted_into_columns():
    preds = Predictions([[2.0, 0], [0, 1], [1, 0]], ["cat", "ant", "cat"], kind="logits")
    assert preds.classes.tolist() == ["ant", "cat"]
    assert preds.labels.tolist() == [1, 0, 1]


def test_integers_outside_are_names_if_they_number_k():
    preds = Predictions([[2.0, 0], [0, 1]], [7, -1], kind="logits")
    assert preds.classes.tolist() == [-1, 7]
    assert preds.labels.tolist() == [1, 0]


def test_classes_overrides():
    preds = Predictions(LOGITS, ["b", "a"], kind="logits", classes=["c", "b", "a"])
    assert preds.labels.tolist() == [1, 2]


def test_one_column_is_class_one_of_two():
    for values in ([0.2, 0.9], [[0.2], [0.9]]):
        preds = Predictions(values, [0, 1], kind="probs")
        assert preds.one_column
        assert preds.K == 2
        np.testing.assert_array_equal(preds.probabilities()[:, 1], [0.2, 0.9])


def test_one_column_of_log_odds():
    preds = Predictions([-np.inf, 0.0, 800.0], [0, 0, 1], kind="logits")
    np.testing.assert_array_equal(preds.probabilities()[:, 1], [0.0, 0.5, 1.0])


def test_probabilities_are_renormalised():
    preds = Predictions([[0.5, 0.4995]], [0], kind="probs")
    np.testing.assert_allclose(preds.probabilities().sum(), 1.0, rtol=1e-15)


def test_logits_that_look_like_probabilities_raise_a_warning():
    with pytest.warns(LooksLikeProbabilities, match="kind='probs'"):
        Predictions([[0.2, 0.8], [1.0, 0.0]], [0, 1], kind="logits")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Predictions([[0.2, 0.8], [1.0, 0.1]], [0, 1], kind="logits")


def test_threads_change_nothing(rng):
    z = rng.normal(size=(5000, 30))
    a = Predictions(z, rng.integers(0, 30, 5000), kind="logits", n_jobs=1)
    b = Predictions(z, a.labels, kind="logits", n_jobs=3)
    np.testing.assert_array_equal(a._top, b._top)


NAN, INF = float("nan"), float("inf")
BAD = [
    (dict(values=[], kind="logits"), InvalidInput, "`logits` is empty"),
    (dict(values=np.empty((3, 0)), kind="probs"), InvalidInput, "no columns"),
    (dict(values=[[NAN, 0], [0, 1]], kind="logits"), InvalidInput, "no NaN.* 1 of 2 rows.*row 0"),
    (dict(values=[[1, 0], [0, INF]], kind="logits"), InvalidInput, r"\+inf: 1 of 2 rows.*row 1"),
    (dict(values=[[1, 0], [-INF, -INF]], kind="logits"), InvalidInput, "finite logit.*row 1"),
    (dict(values=[0.0, NAN], kind="logits"), InvalidInput, "no NaN"),
    (dict(values=[[0.5, 0.6], [0.5, 0.5]], kind="probs"), InvalidInput, "sum to 1.*sum 1.1.*kind"),
    (dict(values=[[1.5, -0.5], [1, 0]], kind="probs"), InvalidInput, ">= 0.*1 of 2 rows"),
    (dict(values=[[NAN, 1.0], [1, 0]], kind="probs"), InvalidInput, "not NaN"),
    (dict(values=[0.2, 1.2], kind="probs"), InvalidInput, r"`probs` must lie in \[0, 1\]"),
    (dict(values=[[2, 0], [0, 1]], labels=[0, 2], kind="logits"), None, None),
    (dict(values=LOGITS, labels=[0, 3], kind="logits"), InvalidInput, r"\[0, 3\).*row 1 \(3\)"),
    (dict(values=LOGITS, labels=[0, -1], kind="logits"), InvalidInput, r"\[0, 3\).*row 1 \(-1\)"),
    (dict(values=LOGITS, labels=[0, 0.5], kind="logits"), InvalidInput, "whole numbers.*0.5"),
    (dict(values=LOGITS, labels=[0, NAN], kind="logits"), InvalidInput, "whole numbers.*nan"),
    (dict(values=LOGITS, labels=["a", "b"], kind="logits"), InvalidInput, "2 distinct names for 3"),
    (dict(values=LOGITS, labels=[0], kind="logits"), InvalidInput, "`labels` must have one entry"),
    (
        dict(values=LOGITS, labels=["a", "d"], classes="abc", kind="logits"),
        InvalidInput,
        "different",
    ),
    (dict(values=LOGITS, labels=["a", "d"], classes=[*"abc"], kind="logits"), InvalidInput, "'d'"),
    (dict(values=LOGITS, labels=[0, 1], kind="guess"), UnknownName, "kind 'guess'"),
    (dict(values=[["a", "b"]], kind="logits"), InvalidType, "must be numbers"),
    (dict(values=[[None, 1]], kind="logits"), InvalidInput, "no value .null. in 1 of 1 rows"),
    (dict(values=[[object(), 1]], kind="logits"), InvalidType, "Python objects"),
    (dict(values=[[1, 2], [3]], kind="logits"), InvalidType, "cannot be read"),
    (dict(values=np.zeros((2, 2, 2)), kind="logits"), InvalidInput, "must be 1-D or 2-D"),
    (
        dict(values=LOGITS, sample_weight=[1, -1], kind="logits"),
        InvalidInput,
        ">= 0: 1 of 2 rows.*row 1",
    ),
    (dict(values=LOGITS, sample_weight=[1, NAN], kind="logits"), InvalidInput, "finite"),
    (dict(values=LOGITS, sample_weight=[0, 0], kind="logits"), InvalidInput, "all 0"),
    (
        dict(values=LOGITS, sample_weight=[1], kind="logits"),
        InvalidInput,
        "`sample_weight` must have one entry",
    ),
    (dict(values=LOGITS, weight_kind="survey", kind="logits"), UnknownName, "weight_kind"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input_names_the_argument_the_rule_and_the_way_out(arguments, error, message):
    if error is None:  # two integers that are no indices are two names
        assert Predictions(**arguments).classes.tolist() == [0, 2]
        return
    with pytest.raises(error, match=message):
        Predictions(**arguments)


def test_words_in_an_array_of_objects_are_labels():
    words = np.array(["cat", "dog", "cat"], dtype=object)
    preds = Predictions(
        np.zeros((3, 2)), words, kind="logits", classes=np.array(["dog", "cat"], dtype=object)
    )
    assert preds.labels.tolist() == [1, 0, 1]
    with pytest.raises(InvalidInput, match=r"`labels` has no value .null. in 1 of 3 .* row 1"):
        Predictions(np.zeros((3, 2)), np.array(["cat", None, "dog"], dtype=object), kind="logits")


def test_masked_entries_are_refused():
    values = np.ma.masked_greater([0.2, 0.9], 0.5)
    with pytest.raises(InvalidType, match="masked entries"):
        Predictions(values, [0, 1], kind="probs")


@pytest.mark.parametrize("weight", [1e150, 1e-150])
def test_weights_whose_squares_leave_the_range_are_refused(weight):
    with pytest.raises(InvalidInput, match="Divide all of them by their mean"):
        Predictions([0.2, 0.9], [0, 1], kind="probs", sample_weight=[1.0, weight])


def test_labels_that_no_integer_holds_are_refused():
    with pytest.raises(InvalidInput, match="whole numbers"):
        Predictions(np.zeros((2, 2)), [0.0, 1e30], kind="logits")


def test_nulls_of_polars_arrow_and_pandas_are_refused_by_name():
    pl, pa, pd = map(pytest.importorskip, ("polars", "pyarrow", "pandas"))
    columns = [pl.Series([0.5, None]), pa.array([0.5, None]), pa.chunked_array([[0.5], [None]])]
    for column in columns:
        with pytest.raises(InvalidInput, match=r"`probs` has no value \(null\) in 1 of 2 .* row 1"):
            Predictions(column, kind="probs")
    for frame in (pl.DataFrame, pa.table):
        with pytest.raises(InvalidInput, match=r"`probs\['b'\]` has no value"):
            Predictions(frame({"a": [0.5, 0.5], "b": [None, 0.5]}), kind="probs")
    for words in (pl.Series(["a", None]), pa.array(["a", None]), pd.Series(["a", None])):
        with pytest.raises(InvalidInput, match="`labels` has no value"):
            Predictions(LOGITS, words, kind="logits")


class OnlyDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Accelerated:
    """As JAX has them: an array of a type that NumPy does not know by itself."""

    def __init__(self, values):
        self.values = values
        self.dtype = values.dtype

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_tensors_with_a_gradient_in_bfloat16_and_on_devices():
    torch, ml_dtypes = map(pytest.importorskip, ("torch", "ml_dtypes"))
    halves = np.array(LOGITS)  # all of them exact in bfloat16

    class Elsewhere:  # a tensor on a device: NumPy cannot read it, its copy can
        def detach(self):
            return self

        def cpu(self):
            return torch.tensor(halves)

        def __array__(self, dtype=None, copy=None):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

    given = [
        torch.tensor(halves, requires_grad=True),
        torch.tensor(halves, requires_grad=True).bfloat16(),
        Elsewhere(),
        OnlyDlpack(halves),
        Accelerated(halves.astype(ml_dtypes.bfloat16)),
    ]
    for tensor in given:
        np.testing.assert_array_equal(Predictions(tensor, kind="logits").values, halves)


@pytest.mark.parametrize("shape", [(9,), (9, 3)])
@pytest.mark.parametrize("kind", ["logits", "probs"])
@pytest.mark.parametrize(
    "rows", [slice(1, 8, 3), [4, 0, 4, -1], np.arange(9) % 2 == 0, np.array([3], dtype=np.uint8)]
)
def test_rows_are_taken_with_all_that_belongs_to_them(shape, kind, rows, rng):
    values = rng.normal(size=shape)
    if kind == "probs":
        values = 1 / (1 + np.exp(-values))
        values = values if len(shape) == 1 else (values / values.sum(1, keepdims=True)).round(3)
    names = np.array(["a", "b", "c"])[: 2 if len(shape) == 1 else 3]
    labels = names[rng.integers(0, names.size, 9)]
    how = {"kind": kind, "classes": names, "weight_kind": "sampling"}
    w = rng.random(9) + 0.5
    some = Predictions(values, labels, sample_weight=w, **how).take(rows)
    fresh = Predictions(values[rows], labels[rows], sample_weight=w[rows], **how)
    assert (some.kind, some.weight_kind, some.n) == (kind, "sampling", fresh.n)
    for name in ("values", "labels", "classes", "sample_weight", "_top", "_choice", "_divided"):
        np.testing.assert_array_equal(getattr(some, name), getattr(fresh, name))
    np.testing.assert_array_equal(some.probabilities(), fresh.probabilities())


def test_rows_that_are_not_there_cannot_be_taken():
    preds = Predictions([0.2, 0.7], [0, 1], kind="probs")
    assert Predictions([0.2, 0.7], kind="probs").take([1]).labels is None
    with pytest.raises(InvalidInput, match="one is 2"):
        preds.take([0, 2])
    with pytest.raises(InvalidInput, match="`rows` must have one entry per row"):
        preds.take([True])
    with pytest.raises(InvalidInput, match="none of the 2 rows"):
        preds.take([])
    with pytest.raises(InvalidType, match="indices, a slice or a mask"):
        preds.take([0.5])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_first_of_the_largest_is_chosen_in_many_short_rows(rng, dtype):
    values = rng.integers(-2, 3, (5_000, 7)).astype(dtype)  # ties
    values[values == 0] = rng.choice([0.0, -0.0], (values == 0).sum())
    values[::9, 1:5] = -np.inf
    preds = Predictions(values, kind="logits")
    np.testing.assert_array_equal(preds.choice(slice(None)), values.argmax(axis=1))
    values[4_321, 3] = np.nan
    with pytest.raises(InvalidInput, match="row 4321"):
        Predictions(values, kind="logits")
