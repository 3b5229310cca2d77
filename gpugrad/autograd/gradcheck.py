"""Are gradients right? Compare them with differences of the function's values at neighbouring points.

For random cotangents v, the gradient of sum(v * f(x)) that backward computes must be, at every element x_i,

    (sum(v * f(x + eps e_i)) - sum(v * f(x - eps e_i))) / (2 eps)

up to eps^2 and rounding / eps. In float64 both are small, so float64 is what is checked wherever a device has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array import Array
from ..dtypes import as_dtype, float32, float64, is_float
from ..errors import GradcheckError
from ..kernels.checks import boolean, kind, real
from .engine import grad
from .mode import enable_grad
from .tensor import Tensor

#: What is taken for eps, atol and rtol where the caller doesn't say. float32 has 7 digits: eps balances what the
#: difference cuts off against what rounding leaves of it.
DEFAULTS = {float64: (1e-6, 1e-5, 1e-3), float32: (1e-2, 1e-2, 1e-2)}

COTANGENTS = 2


@dataclass(frozen=True)
class Passed:
    """What a passed check looked at; it counts as True."""

    name: str
    dtype: np.dtype
    derivatives: int

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{self.name} passed: {self.derivatives} derivatives in {self.dtype}"


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    dtype: Any = None,
) -> Any:
    """Whether the gradients of `func(*inputs)` agree with differences of its values, at every element.

    `inputs`: a tensor, or a sequence of arguments; gradients are checked of the tensors that require one. Floating
    point tensors are cast to `dtype`: float64 where the device has it, else float32 (tolerances: `DEFAULTS`). They
    agree where |numerical - analytical| <= atol + rtol * |numerical|.

    Gives an object that counts as True and says which dtype was checked. Otherwise raises GradcheckError, which names
    the input, the index and both numbers, or gives False where `raise_exception` is False.
    """
    args = _arguments("gradcheck", "inputs", inputs)
    return _check("gradcheck", func, args, eps, atol, rtol, raise_exception, dtype)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    dtype: Any = None,
) -> Any:
    """gradcheck of the gradient: of the function that takes `inputs` and `grad_outputs` to the gradients of inputs.

    `grad_outputs`: a tensor for each output; random ones unless given. All else is as in `gradcheck`.
    """
    _check_callable("gradgradcheck", func)
    args = _arguments("gradgradcheck", "inputs", inputs)
    wanted = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    if grad_outputs is None:
        rng = np.random.default_rng(1)
        shapes = [(o.shape, o.dtype, o.device) for o in _outputs(func, args)]
        cotangents = [_tensor(rng.normal(size=s), d, dev) for s, d, dev in shapes]
    else:
        given = _arguments("gradgradcheck", "grad_outputs", grad_outputs)
        for i, g in enumerate(given):
            if not isinstance(g, Tensor):
                raise TypeError(f"gradgradcheck: grad_outputs[{i}] is {type(g).__name__}; it must be a tensor")
        cotangents = [g.detach().requires_grad_() for g in given]

    def gradients(*everything: Any) -> tuple[Tensor, ...]:
        primal, cotangents = everything[: len(args)], everything[len(args) :]
        found = grad(
            _outputs(func, primal), [primal[i] for i in wanted], cotangents, create_graph=True, allow_unused=True
        )
        return tuple([g for g in found if g is not None])

    return _check("gradgradcheck", gradients, [*args, *cotangents], eps, atol, rtol, raise_exception, dtype)


def _check(
    name: str,
    func: Callable[..., Any],
    args: Sequence[Any],
    eps: float | None,
    atol: float | None,
    rtol: float | None,
    raise_exception: bool,
    dtype: Any,
) -> Any:
    raise_exception = boolean(name, "raise_exception", raise_exception)
    _check_callable(name, func)
    args, chosen = _cast(name, args, dtype)
    eps, atol, rtol = (
        default if given is None else real(name, argument, given, 0)
        for argument, given, default in zip(("eps", "atol", "rtol"), (eps, atol, rtol), DEFAULTS[chosen])
    )
    if not eps:
        raise ValueError(f"{name}: eps is 0; it is how far points lie apart, and must be above 0")
    try:
        with enable_grad():
            count = 0
            for i, index, numerical, analytical in _derivatives(name, func, args, eps):
                count += 1
                # Written so that a NaN on either side fails.
                if not abs(numerical - analytical) <= atol + rtol * abs(numerical):
                    raise GradcheckError(
                        f"{name}: the gradient of input {i} is wrong at index {index}: numerical {numerical:.6g}, "
                        f"analytical {analytical:.6g} (in {chosen}, eps={eps:g}, atol={atol:g}, rtol={rtol:g})"
                    )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return Passed(name, chosen, count)


def _derivatives(
    name: str, func: Callable[..., Any], args: list[Any], eps: float
) -> Iterator[tuple[int, tuple[int, ...], float, float]]:
    """(input, index, numerical, analytical) for every element of every input that requires a gradient."""
    outputs = _outputs(func, args)
    values = [o.detach().numpy() for o in outputs]
    again = [o.detach().numpy() for o in _outputs(func, args)]
    same = _shapes(again) == _shapes(values)
    if not same or not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(values, again)):
        raise GradcheckError(f"{name}: func gives other values when it is called again; nothing can be compared")
    rng = np.random.default_rng(0)
    cotangents = [[rng.normal(size=v.shape) for v in values] for _ in range(COTANGENTS)]
    wanted = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    analytical = [_backward(outputs, [args[i] for i in wanted], v) for v in cotangents]
    for place, i in enumerate(wanted):
        host = args[i].detach().numpy()
        for index in np.ndindex(host.shape):
            sides = []
            for step in (eps, -eps):
                moved = host.copy()
                moved[index] += step
                nearby = _values(func, args, i, moved)
                if _shapes(nearby) != _shapes(values):
                    raise GradcheckError(
                        f"{name}: the outputs of func have the shapes {_shapes(values)}, but {_shapes(nearby)} where "
                        f"input {i} is changed a little at index {index}; nothing can be compared"
                    )
                sides.append((moved[index], nearby))
            (x_up, up), (x_down, down) = sides
            width = float(x_up) - float(x_down)  # what eps has become after rounding
            for v, gradients in zip(cotangents, analytical):
                difference = sum(float(np.sum(c * (a - b))) for c, a, b in zip(v, up, down))
                yield i, index, difference / width, float(gradients[place][index])


def _shapes(values: list[np.ndarray]) -> list[tuple[int, ...]]:
    return [v.shape for v in values]


def _values(func: Callable[..., Any], args: list[Any], i: int, host: np.ndarray) -> list[np.ndarray]:
    """The values of func's outputs, in float64, with input `i` replaced."""
    moved = list(args)
    moved[i] = Tensor._wrap(Array.from_numpy(host, device=args[i].device)).requires_grad_()
    return [o.detach().numpy().astype(np.float64) for o in _outputs(func, moved)]


def _backward(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[np.ndarray]) -> list[np.ndarray]:
    """Gradients of sum(cotangent * output) over the outputs that depend on anything."""
    pairs = [(o, _tensor(c, o.dtype, o.device)) for o, c in zip(outputs, cotangents) if o.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        found = grad([o for o, _ in pairs], inputs, [c for _, c in pairs], retain_graph=True, allow_unused=True)
    return [np.zeros(x.shape) if g is None else g.detach().numpy() for x, g in zip(inputs, found)]


def _outputs(func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    result = func(*args)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    for o in outputs:
        if not isinstance(o, Tensor):
            raise TypeError(f"gradcheck: func gave {type(o).__name__}; it must give a tensor or a tuple of tensors")
    floating = [o for o in outputs if is_float(o.dtype)]
    if not floating:
        raise ValueError("gradcheck: func gives no floating-point tensor, so there is nothing to differentiate")
    return floating


def _check_callable(name: str, func: Any) -> None:
    if not callable(func):
        raise TypeError(f"{name}: func is {func!r}; it must be a function of the inputs")


def _arguments(name: str, argument: str, given: Any) -> list[Any]:
    if isinstance(given, Tensor):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"{name}: {argument} is {kind(given)}; give a tensor, or a sequence")
    return list(given)


def _tensor(host: np.ndarray, dtype: np.dtype, device: Any) -> Tensor:
    return Tensor._wrap(Array.from_numpy(host, dtype, device)).requires_grad_()


def _cast(name: str, args: Sequence[Any], dtype: Any) -> tuple[list[Any], np.dtype]:
    """Arguments with floating-point tensors as leaves of the dtype to check, and that dtype."""
    wanted = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    if not wanted:
        raise ValueError(f"{name}: no input requires a gradient; make one with requires_grad=True")
    chosen = as_dtype(dtype) if dtype is not None else float64 if wanted[0].device.has_float64 else float32
    if chosen not in DEFAULTS:
        raise TypeError(f"{name}: dtype is {chosen}; differences need float64 or float32")
    cast: list[Any] = []
    for a in args:
        if isinstance(a, Tensor) and is_float(a.dtype):
            cast.append(a.detach().to(chosen).clone().requires_grad_(a.requires_grad))
        else:
            cast.append(a)
    return cast, chosen
