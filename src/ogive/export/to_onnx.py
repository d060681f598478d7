"""ONNX: the calibrator as a graph, written node by node with `onnx.helper`.

Operator set 17 (onnxruntime 1.12 and later). The input is a batch of any size: ``logits`` or
``probs`` (batch, classes), or ``log_odds`` or ``scores`` (batch,) for the view 'score'. The
output is ``probabilities`` (batch, classes) or ``score`` (batch,), with a band also ``low`` and
``high`` (batch,), of whole vectors those of the most probable class. A calibrator of groups also
takes ``group`` (batch,) text, or ``group_1``, ``group_2``, ... for several columns, whose names are
in the model's metadata; empty text is a missing value. The graph computes in double and returns
double, whatever the input is: a float32 output could tie two classes, or round to 1.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from ogive.calibrators.grouped_map import NO_GROUP, GroupedMap
from ogive.errors import need
from ogive.export.arrays import Traced
from ogive.export.programs import program_of
from ogive.export.schema import description

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, Kind
    from ogive.calibrators.maps import Fitted

OPSET = 17
_OPERATORS = {
    "absolute": "Abs",
    "exp": "Exp",
    "log": "Log",
    "matmul": "MatMul",
    "maximum": "Max",
    "minimum": "Min",
    "sqrt": "Sqrt",
    "where": "Where",
}
IR_VERSION = 8
_ML, _ML_VERSION = "ai.onnx.ml", 3  # what belongs to operator set 17


def model(
    calibrator: Fitted,
    *,
    kind: Kind = "logits",
    dtype: str = "float64",
    ends: Sequence[Fitted] = (),
) -> Any:  # noqa: ANN401
    """Return the calibrator as an ``onnx.ModelProto``.

    Parameters
    ----------
    calibrator : fitted map or calibrator
    kind : {"logits", "probs"}
        What the graph takes.
    dtype : {"float32", "float64"}
        The type of the input.
    ends : two maps, optional
        The ends of its band: more outputs, ``low`` and ``high``.
    """
    onnx = need("onnx", extra="onnx")
    grouped = calibrator if isinstance(calibrator, GroupedMap) else None
    program = program_of(calibrator, kind, ends)
    graph = _Graph(onnx)
    one = program.one_column
    name = {"logits": "log_odds", "probs": "scores"}[kind] if one else str(kind)
    K: Any = getattr(program, "K", "classes")
    element = {"float32": onnx.TensorProto.FLOAT, "float64": onnx.TensorProto.DOUBLE}[dtype]
    x = graph.node("Cast", Traced(graph, name), to=onnx.TensorProto.DOUBLE)
    if one:
        x = graph.node("Reshape", x, graph.integers([-1, 1]))
    constants = {key: graph.table(key, array) for key, array in program.constants.items()}
    inputs = [] if grouped is None else _group_inputs(grouped)
    places = [] if grouped is None else graph.places(inputs, grouped)
    result = program(graph, constants, x, *([places] if places else []))
    single = one or not program.full
    widths = {"score": 1} if single else {"probabilities": K}
    widths |= {"low": 1, "high": 1} if ends else {}
    first = 0
    for out, width in widths.items():
        column = graph.columns(result, first, first + width) if ends else result
        if out != "probabilities":
            column = graph.node("Reshape", column, graph.integers([-1]))
        graph.node("Identity", column, name=out)
        first += width if ends else 0
    info = onnx.helper.make_tensor_value_info
    built = onnx.helper.make_graph(
        graph.nodes,
        "ogive",
        [
            info(name, element, ["batch"] if one else ["batch", K]),
            *(info(group, onnx.TensorProto.STRING, ["batch"]) for group in inputs),
        ],
        [
            info(
                out, onnx.TensorProto.DOUBLE, ["batch", K] if out == "probabilities" else ["batch"]
            )
            for out in widths
        ],
        graph.used_tables(),
        doc_string=description(calibrator),
    )
    versions = {"": OPSET} | ({_ML: _ML_VERSION} if inputs else {})
    made = onnx.helper.make_model(
        built,
        opset_imports=[onnx.helper.make_opsetid(*version) for version in versions.items()],
        producer_name="ogive",
        producer_version=ogive.__version__,
    )
    made.ir_version = IR_VERSION
    if grouped is not None:
        columns = dict(zip(inputs, grouped.columns, strict=True))
        onnx.helper.set_model_props(made, {"group_columns": json.dumps(columns)})
    onnx.checker.check_model(made, full_check=True)
    return made


def _group_inputs(gamma: GroupedMap) -> list[str]:
    """Return the names of the inputs of groups: our own, as any text may name a column."""
    return ["group"] if gamma.width == 1 else [f"group_{c + 1}" for c in range(gamma.width)]


def write(
    calibrator: Fitted,
    *,
    kind: Kind = "logits",
    dtype: str = "float64",
    ends: Sequence[Fitted] = (),
) -> bytes:
    """Return the file's contents."""
    contents: bytes = model(calibrator, kind=kind, dtype=dtype, ends=ends).SerializeToString()
    return contents


def run(
    contents: bytes, values: AnyArray, dtype: str = "float64", groups: AnyArray | None = None
) -> FloatArray:
    """Run a written model in onnxruntime; groups are (n, columns)."""
    runtime = need("onnxruntime", extra="onnx")
    session = runtime.InferenceSession(contents, providers=["CPUExecutionProvider"])
    entry, *others = (entry.name for entry in session.get_inputs())
    given = {entry: np.ascontiguousarray(values, dtype=np.dtype(dtype))}
    for name, column in zip(others, () if groups is None else groups.T, strict=True):
        given[name] = np.array(["" if value is None else value for value in column], dtype=object)
    results = session.run(None, given)
    return results[0] if len(results) == 1 else np.column_stack(results)


class _Graph:
    """The namespace of `ogive.export.arrays`: each call adds a node."""

    def __init__(self, onnx: Any) -> None:  # noqa: ANN401
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.tables: list[Any] = []
        self.numbers: dict[tuple[str, bytes], Traced] = {}

    def node(self, op: str, *inputs: Any, name: str | None = None, **options: Any) -> Traced:  # noqa: ANN401
        integer = any(isinstance(value, Traced) and value.integer for value in inputs[-2:])
        values = [self._number(value, integer=integer) for value in inputs]
        out = name or f"{op.lower()}_{len(self.nodes)}"
        entry = self.onnx.helper.make_node(op, [v.name for v in values], [out], **options)
        self.nodes.append(entry)
        return Traced(self, out, integer and op in {"Add", "Mul", "Where"})

    def table(self, name: str, array: AnyArray) -> Traced:
        self.tables.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return Traced(self, name, array.dtype == np.int64)

    def used_tables(self) -> list[Any]:
        """Return the tables that some node reads; onnxruntime warns of others."""
        read = {name for entry in self.nodes for name in entry.input}
        return [table for table in self.tables if table.name in read]

    def integers(self, values: Sequence[int]) -> Traced:
        return self._constant(np.array(values, dtype=np.int64))

    def _number(self, value: Any, *, integer: bool) -> Traced:  # noqa: ANN401
        if isinstance(value, Traced):
            return value
        return self._constant(np.array(value, dtype=np.int64 if integer else np.float64))

    def _constant(self, array: AnyArray) -> Traced:
        key = (f"{array.dtype}{array.shape}", array.tobytes())
        if key not in self.numbers:
            self.numbers[key] = self.table(f"number_{len(self.numbers)}", array)
        return self.numbers[key]

    def places(self, inputs: Sequence[str], gamma: GroupedMap) -> list[Traced]:
        """Return the place of each row's value among those of its column, (n, 1) each."""
        found = []
        for name, values in zip(inputs, gamma.table.values, strict=True):
            keys = {value: i for i, value in enumerate(values)}
            keys.setdefault("", keys.get(NO_GROUP, len(values)))
            place = self._encode(
                Traced(self, name),
                keys_strings=[value.encode() for value in keys],
                values_int64s=list(keys.values()),
                default_int64=len(values),
            )
            column = self.node("Reshape", place, self.integers([-1, 1]))
            found.append(Traced(self, column.name, integer=True))
        return found

    def find(self, keys: Traced, values: Traced) -> Traced:
        table = next(table for table in self.tables if table.name == keys.name)
        known = self.onnx.numpy_helper.to_array(table).tolist()
        places = list(range(len(known)))
        return self._encode(
            values, keys_int64s=known, values_int64s=places, default_int64=len(known)
        )

    def _encode(self, x: Traced, **options: Any) -> Traced:  # noqa: ANN401
        found = self.node("LabelEncoder", x, domain=_ML, **options)
        return Traced(self, found.name, integer=True)

    def __getattr__(self, name: str) -> Callable[..., Traced]:
        """Return the function of the namespace that is a single operator."""
        return lambda *inputs: self.node(_OPERATORS[name], *inputs)

    def if_any(self, flags: Traced, new: Callable[[], Traced], old: Traced) -> Traced:
        return self.where(self.max(flags) > 0.0, new(), old)

    def sum(self, x: Traced) -> Traced:
        return self.node("ReduceSum", x, self.integers([1]), keepdims=1)

    def max(self, x: Traced) -> Traced:
        return self.node("ReduceMax", x, axes=[1], keepdims=1)

    def take(self, table: Traced, index: Traced) -> Traced:
        found = self.node("Gather", table, index)
        return Traced(self, found.name)

    def columns(self, x: Traced, first: int, last: int | None) -> Traced:
        end = np.iinfo(np.int64).max if last is None else last
        start, stop, axis = (self.integers([i]) for i in (first, end, 1))
        found = self.node("Slice", x, start, stop, axis)
        return Traced(self, found.name, x.integer)

    def without(self, x: Traced, first: int, last: int) -> Traced:
        nothing = 0.0 * self.columns(x, first, last)
        return self.join([self.columns(x, 0, first), nothing, self.columns(x, last, None)])

    def join(self, parts: Sequence[Traced]) -> Traced:
        return self.node("Concat", *parts, axis=1)

    def descending(self, x: Traced, first: int | None) -> tuple[Traced, Traced]:
        if first is None:
            count = self.node(
                "Slice", self.node("Shape", x), self.integers([1]), self.integers([2])
            )
        else:
            count = self.integers([first])
        names = [f"top_{len(self.nodes)}", f"order_{len(self.nodes)}"]
        make = self.onnx.helper.make_node
        self.nodes.append(make("TopK", [x.name, count.name], names, axis=1, largest=1, sorted=1))
        return Traced(self, names[0]), Traced(self, names[1], integer=True)

    def gather(self, x: Traced, index: Traced) -> Traced:
        return Traced(self, self.node("GatherElements", x, index, axis=1).name)

    def scatter(self, x: Traced, index: Traced, values: Traced) -> Traced:
        return Traced(self, self.node("ScatterElements", x, index, values, axis=1).name)

    def sum_to_the_end(self, x: Traced) -> Traced:
        axis = self._constant(np.array(1, dtype=np.int64))
        return Traced(self, self.node("CumSum", x, axis, reverse=1).name)
