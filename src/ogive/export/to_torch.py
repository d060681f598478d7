"""PyTorch: the calibrator as a ``torch.nn.Module``, and as a file of ``torch.export``.

`module` gives a module whose tables are buffers: put it after a classifier, move it to a device,
compile or export it, differentiate through it. It computes in double and returns double. The
file (.pt2) holds the exported program with a batch of any size; to load it takes torch alone::

    calibrate = torch.export.load("cal.pt2").module()
    probabilities = calibrate(logits)

A calibrator of groups is called ``calibrate(scores, groups)``: whole numbers (batch,), the place of
each row's group in the table of its column, or (batch, columns); any other number, such as -1, is a
group that was not seen. The table is the module's ``groups``, and the file ``groups.json`` inside
the .pt2::

    table = {"groups.json": ""}
    calibrate = torch.export.load("cal.pt2", extra_files=table).module()
    json.loads(table["groups.json"])   # {"columns": ["country"], "values": [["BR", "US"]], ...}

Gradients are those of the map: zero where it is flat (steps, ends that were cut), and at a jump
or a kink those of one side.
"""

from __future__ import annotations

import io
import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from ogive.calibrators.grouped_map import NO_GROUP, GroupedMap
from ogive.errors import need
from ogive.export.group_arrays import GroupProgram
from ogive.export.programs import program_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, IntArray, Kind
    from ogive.calibrators.maps import Fitted

_TABLE = "groups.json"
_CLASSES_OF_EXAMPLE = 8  # torch.export needs an example, also if any number of classes fits


def module(calibrator: Fitted, *, kind: Kind = "logits", ends: Sequence[Fitted] = ()) -> Any:  # noqa: ANN401 - torch has no types here
    """Return the calibrator as a ``torch.nn.Module``.

    Parameters
    ----------
    calibrator : fitted map or calibrator
    kind : {"logits", "probs"}
        What the module takes: (batch, classes), or (batch,) for the view 'score'.
    ends : two calibrators, optional
        The ends of its band.

    Returns
    -------
    torch.nn.Module
        Its output is (batch, classes) for full vectors, and (batch,) for a view's score; with a
        band, a tuple of that, low and high, of full vectors those of the most probable class.
    """
    torch = need("torch", extra="torch")
    program = program_of(calibrator, kind, ends)
    full = program.full and not program.one_column
    namespace = _Torch(torch)

    class Calibrator(torch.nn.Module):  # type: ignore[misc, name-defined]
        """A fitted calibrator."""

        def __init__(self) -> None:
            super().__init__()
            for name, array in program.constants.items():
                self.register_buffer(name, torch.tensor(np.array(array)))

        def forward(self, values: Any, groups: Any = None) -> Any:  # noqa: ANN401
            x = values.to(torch.float64)
            constants = {name: getattr(self, name) for name in program.constants}
            x = x[:, None] if program.one_column else x
            if isinstance(program, GroupProgram):
                result = program(namespace, constants, x, namespace.places(groups, program.sizes))
            else:
                result = program(namespace, constants, x)
            if ends:
                value, low, high = result[:, :-2], result[:, -2], result[:, -1]
                return (value if full else value[:, 0]), low, high
            return result if full else result[:, 0]

        def _apply(self, fn: Any, recurse: bool = True) -> Any:  # noqa: ANN401
            """Move to a device, but stay double: half() and float() would round the tables."""
            kept = {name: getattr(self, name) for name in program.constants}
            super()._apply(fn, recurse)
            for name, table in kept.items():
                moved = getattr(self, name)
                if moved.dtype != table.dtype:
                    setattr(self, name, table.to(moved.device))
            return self

    made = Calibrator()
    if isinstance(calibrator, GroupedMap):
        made.groups = {
            "columns": list(calibrator.columns),
            "values": calibrator.table.values,
            "missing": NO_GROUP,
        }
    return made


def write(
    calibrator: Fitted,
    *,
    kind: Kind = "logits",
    dtype: str = "float32",
    ends: Sequence[Fitted] = (),
) -> bytes:
    """Return the contents of a .pt2 file."""
    torch = need("torch", extra="torch")
    made = module(calibrator, kind=kind, ends=ends).eval()
    one = calibrator.view == "score"
    example = torch.zeros((3,) if one else (3, getattr(calibrator, "K", _CLASSES_OF_EXAMPLE)))
    example = example.to(getattr(torch, dtype))
    if kind == "probs":
        example += 0.5 if one else 1.0 / example.shape[1]
    free = {0: torch.export.Dim("batch")}
    if not one and not hasattr(calibrator, "K"):
        free[1] = torch.export.Dim.AUTO  # as many classes as the view needs, or more
    given, shapes, beside = [example], [free], {"ogive": ogive.__version__}
    if isinstance(calibrator, GroupedMap):
        given.append(torch.zeros((3, calibrator.width), dtype=torch.int64))
        shapes.append({0: free[0]})
        if calibrator.width == 1:
            given[1] = given[1][:, 0]
        beside[_TABLE] = json.dumps(made.groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about its own internals
        exported = torch.export.export(made, tuple(given), dynamic_shapes=tuple(shapes))
        buffer = io.BytesIO()
        torch.export.save(exported, buffer, extra_files=beside)
    return buffer.getvalue()


def run(
    contents: bytes, values: AnyArray, dtype: str = "float32", groups: AnyArray | None = None
) -> FloatArray:
    """Run an exported program; groups are (n, columns), and found in the file's own table."""
    torch = need("torch", extra="torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        beside = {} if groups is None else {_TABLE: ""}
        program = torch.export.load(io.BytesIO(contents), extra_files=beside).module()
    with torch.no_grad():
        given = [torch.tensor(np.ascontiguousarray(values, dtype=np.dtype(dtype)))]
        if groups is not None:
            given.append(torch.tensor(_codes(groups, json.loads(beside[_TABLE]))))
        found = program(*given)
        result: FloatArray = (
            torch.column_stack(found) if isinstance(found, tuple) else found
        ).numpy()
    return result


def _codes(groups: AnyArray, table: dict[str, Any]) -> IntArray:
    """Return the places of groups (n, columns) as a user of the file finds them."""
    columns = []
    for column, values in zip(groups.T, table["values"], strict=True):
        place = {value: i for i, value in enumerate(values)}
        missing = place.get(table["missing"], -1)
        columns.append([place.get(name, -1) if name else missing for name in column])
    codes = np.array(columns, dtype=np.int64).T
    return codes[:, 0] if len(columns) == 1 else codes


class _Torch:
    """The namespace of `ogive.export.arrays`, in torch."""

    def __init__(self, torch: Any) -> None:  # noqa: ANN401
        self.torch = torch

    def __deepcopy__(self, memo: Any) -> _Torch:  # noqa: ANN401 - a module cannot be copied
        return self

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return the function of torch, where it has the same name and meaning."""
        return getattr(self.torch, name)

    def absolute(self, x: Any) -> Any:  # noqa: ANN401
        return self.torch.where(x > 0.0, x, -x)  # the slope at 0 is one side's, not 0

    def places(self, groups: Any, sizes: Sequence[int]) -> list[Any]:  # noqa: ANN401
        """Return the places of groups, (n, 1) each; the number of values for any not there."""
        codes = groups.to(self.torch.int64).reshape(-1, len(sizes))
        columns = [(codes[:, c : c + 1], size) for c, size in enumerate(sizes)]
        return [self.torch.where((code < 0) | (code >= m), m, code) for code, m in columns]

    def find(self, keys: Any, values: Any) -> Any:  # noqa: ANN401
        count = keys.shape[0]
        at = self.torch.clamp(self.torch.searchsorted(keys, values), max=count - 1)
        return self.torch.where(keys[at] == values, at, count)

    def minimum(self, x: Any, y: Any) -> Any:  # noqa: ANN401
        return self.torch.clamp(x, max=y)

    def maximum(self, x: Any, y: Any) -> Any:  # noqa: ANN401
        return self.torch.clamp(x, min=y)

    def where(self, condition: Any, x: Any, y: Any) -> Any:  # noqa: ANN401
        if isinstance(x, float) and isinstance(y, float):
            return self.torch.where(condition, x, y).to(self.torch.float64)
        return self.torch.where(condition, x, y)

    def if_any(self, flags: Any, new: Callable[[], Any], old: Any) -> Any:  # noqa: ANN401
        return self.where(self.max(flags) > 0.0, new(), old)

    def sum(self, x: Any) -> Any:  # noqa: ANN401
        return x.sum(dim=1, keepdim=True)

    def max(self, x: Any) -> Any:  # noqa: ANN401
        return x.amax(dim=1, keepdim=True)

    def take(self, table: Any, index: Any) -> Any:  # noqa: ANN401
        return table[index]

    def columns(self, x: Any, first: int, last: int | None) -> Any:  # noqa: ANN401
        return x[:, first:last]

    def without(self, x: Any, first: int, last: int) -> Any:  # noqa: ANN401
        nothing = 0.0 * x[:, first:last]
        return self.torch.slice_scatter(x, nothing, dim=1, start=first, end=last)

    def join(self, parts: Sequence[Any]) -> Any:  # noqa: ANN401
        return self.torch.cat(list(parts), dim=1)

    def descending(self, x: Any, first: int | None) -> tuple[Any, Any]:  # noqa: ANN401
        values, order = self.torch.sort(x, dim=1, descending=True, stable=True)
        return (values, order) if first is None else (values[:, :first], order[:, :first])

    def gather(self, x: Any, index: Any) -> Any:  # noqa: ANN401
        return x.gather(1, index)

    def scatter(self, x: Any, index: Any, values: Any) -> Any:  # noqa: ANN401
        return x.scatter(1, index, values)

    def sum_to_the_end(self, x: Any) -> Any:  # noqa: ANN401
        return x.flip(1).cumsum(1).flip(1)
