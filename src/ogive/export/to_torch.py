"""PyTorch: the calibrator as a ``torch.nn.Module``, and as a file of ``torch.export``.

`module` gives a module whose tables are buffers: put it after a classifier, move it to a device,
compile or export it, differentiate through it. It computes in double and returns double. The
file (.pt2) holds the exported program with a batch of any size; to load it takes torch alone::

    calibrate = torch.export.load("cal.pt2").module()
    probabilities = calibrate(logits)

Gradients are those of the map: zero where it is flat (steps, ends that were cut), and at a jump
or a kink those of one side.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import need
from ogive.export.vectors import program_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, FloatArray, Kind
    from ogive.calibrators.maps import Fitted

_CLASSES_OF_EXAMPLE = 8  # torch.export needs an example, also if any number of classes fits


def module(calibrator: Fitted, *, kind: Kind = "logits") -> Any:  # noqa: ANN401 - torch has no types here
    """Return the calibrator as a ``torch.nn.Module``.

    Parameters
    ----------
    calibrator : fitted map or calibrator
    kind : {"logits", "probs"}
        What the module takes: (batch, classes), or (batch,) for the view 'score'.

    Returns
    -------
    torch.nn.Module
        Its output is (batch, classes) for full vectors, and (batch,) for a view's score.
    """
    torch = need("torch", extra="torch")
    program = program_of(calibrator, kind)
    namespace = _Torch(torch)

    class Calibrator(torch.nn.Module):  # type: ignore[misc, name-defined]
        """A fitted calibrator."""

        def __init__(self) -> None:
            super().__init__()
            for name, array in program.constants.items():
                self.register_buffer(name, torch.tensor(np.array(array)))

        def forward(self, values: Any) -> Any:  # noqa: ANN401
            x = values.to(torch.float64)
            constants = {name: getattr(self, name) for name in program.constants}
            result = program(namespace, constants, x[:, None] if program.one_column else x)
            return result if program.full and not program.one_column else result[:, 0]

        def _apply(self, fn: Any, recurse: bool = True) -> Any:  # noqa: ANN401
            """Move to a device, but stay double: half() and float() would round the tables."""
            kept = {name: getattr(self, name) for name in program.constants}
            super()._apply(fn, recurse)
            for name, table in kept.items():
                moved = getattr(self, name)
                if moved.dtype != table.dtype:
                    setattr(self, name, table.to(moved.device))
            return self

    return Calibrator()


def write(calibrator: Fitted, *, kind: Kind = "logits", dtype: str = "float32") -> bytes:
    """Return the contents of a .pt2 file."""
    torch = need("torch", extra="torch")
    made = module(calibrator, kind=kind).eval()
    one = calibrator.view == "score"
    example = torch.zeros((3,) if one else (3, getattr(calibrator, "K", _CLASSES_OF_EXAMPLE)))
    example = example.to(getattr(torch, dtype))
    if kind == "probs":
        example += 0.5 if one else 1.0 / example.shape[1]
    free = {0: torch.export.Dim("batch")}
    if not one and not hasattr(calibrator, "K"):
        free[1] = torch.export.Dim.AUTO  # as many classes as the view needs, or more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about its own internals
        exported = torch.export.export(made, (example,), dynamic_shapes=(free,))
        buffer = io.BytesIO()
        torch.export.save(exported, buffer)
    return buffer.getvalue()


def run(contents: bytes, values: AnyArray, dtype: str = "float32") -> FloatArray:
    """Run an exported program."""
    torch = need("torch", extra="torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.load(io.BytesIO(contents)).module()
    with torch.no_grad():
        given = torch.tensor(np.ascontiguousarray(values, dtype=np.dtype(dtype)))
        result: FloatArray = program(given).numpy()
    return result


class _Torch:
    """The namespace of `ogive.export.arrays`, in torch."""

    def __init__(self, torch: Any) -> None:  # noqa: ANN401
        self.torch = torch

    def __deepcopy__(self, memo: Any) -> _Torch:  # noqa: ANN401 - a module cannot be copied
        return self

    def exp(self, x: Any) -> Any:  # noqa: ANN401
        return self.torch.exp(x)

    def log(self, x: Any) -> Any:  # noqa: ANN401
        return self.torch.log(x)

    def absolute(self, x: Any) -> Any:  # noqa: ANN401
        return self.torch.where(x > 0.0, x, -x)  # the slope at 0 is one side's, not 0

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

    def matmul(self, x: Any, y: Any) -> Any:  # noqa: ANN401
        return x @ y
