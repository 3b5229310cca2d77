"""Kernels from text to launch: declarations, builds, checks, observers, threads."""

import threading

import numpy as np
import pytest
from adding import ADD, floats

from gpugrad import program
from gpugrad.array import Array
from gpugrad.build_errors import explain
from gpugrad.custom import kernel
from gpugrad.errors import KernelBuildError
from gpugrad.kernels import elementwise
from gpugrad.program import Argument, declared, intercepting, on_launch

# Declarations


def test_an_argument_is_declared_as_role_and_axes():
    argument = Argument.parse("col", "out N (C KH KW) (OH OW)")
    assert argument == Argument("col", "out", ("N", "(C KH KW)", "(OH OW)"))
    assert argument.written
    assert not Argument.parse("x", "in").written


def test_an_unknown_role_is_refused():
    with pytest.raises(ValueError, match="a role is one of in, out, inout, partial, scratch"):
        Argument.parse("x", "output N C")


def test_every_kernel_of_the_package_declares_each_of_its_buffers(device):
    """The source pass, the sanitizer and the figures rely on it."""
    import importlib
    import pkgutil

    import gpugrad.kernels

    for module in pkgutil.iter_modules(gpugrad.kernels.__path__):
        importlib.import_module(f"gpugrad.kernels.{module.name}")
    assert declared
    for k in declared:
        assert f"void {k.name}(" in k.source, k
        signature = k.source[k.source.index(f"void {k.name}(") :]
        signature = signature[: signature.index("{")]
        buffers = [p for p in signature.split(",") if "__global" in p]
        names = {p.split("*")[-1].replace("restrict", "").strip(" )\n") for p in buffers}
        assert names == set(k.arguments), k


# Builds


def test_a_mistake_in_the_text_is_shown_at_its_line_with_a_caret(device):
    with pytest.raises(KernelBuildError) as error:
        kernel("__kernel void f(__global float *x) {\n  int i = get_global_id(0);\n  x[i] = q;\n}")
    lines = str(error.value).split("\n")
    at = next(i for i, line in enumerate(lines) if "line 3" in line)
    assert "q" in lines[at]
    assert lines[at + 1] == "      x[i] = q;"
    assert lines[at + 2].index("^") == lines[at + 1].index("q")


@pytest.mark.parametrize(
    "log",
    [
        "error: /tmp/x.cl:5:3: use of undeclared identifier 'q'",
        "input.cl:5:3: error: use of undeclared identifier 'q'",
        "<kernel>:5:3: error: use of undeclared identifier 'q'\n  q = 1;\n  ^",
    ],
    ids=["pocl", "clang", "nvidia"],
)
def test_each_compilers_way_of_saying_it_is_understood(log):
    told = explain(f"Build failed:\n{log}\n1 error generated", "a\nb\nxxqxx", skip=2)
    assert "line 3: use of undeclared identifier 'q'" in told
    assert told.split("\n")[2:4] == ["    xxqxx", "      ^"]


def test_a_log_of_an_unknown_form_is_passed_on_whole():
    assert "the dog ate it" in explain("the dog ate it", "x")


# Versions, observers, interceptors, waiting


def test_a_launch_bumps_the_version_of_what_it_may_write_and_of_nothing_else(device):
    a, out = floats(1), floats(0)
    before = a.state.version
    kernel(ADD)(a, a, out, 1, global_size=1)
    assert a.state.version == before
    assert out.state.version == 2
    assert isinstance(out.state.writer, int)


def test_a_declared_role_decides_over_const(device):
    x = floats(1, 2)
    k = kernel(ADD, a="in N", b="in N", out="in N")
    k(x, x, x, 2, global_size=2)
    assert x.state.version == 1


def test_on_launch_sees_each_launch_until_removed(device):
    seen = []
    a, out = floats(1, 2, 3), floats(0, 0, 0)
    add = kernel(ADD)
    handle = on_launch(seen.append)
    try:
        add(a, a, out, 3, global_size=64, local_size=64)
    finally:
        handle.remove()
    handle.remove()  # twice is harmless
    add(a, a, out, 3, global_size=64, local_size=64)
    (launch,) = seen
    assert (launch.kernel.name, launch.global_size, launch.local_size) == ("add", (64,), (64,))
    assert launch.named_args() == {"a": a, "b": a, "out": out, "n": 3}
    assert launch.event is not None


def test_on_launch_wants_a_callable():
    with pytest.raises(TypeError, match="must be callable"):
        on_launch(3)


def test_an_interceptor_stands_around_the_launch_and_may_leave_it_out(device):
    order = []

    def outer(launch, run):
        order.append("before")
        run()
        order.append("after")

    out = floats(0)
    add, one = kernel(ADD), floats(1)
    with intercepting(outer):
        add(one, one, out, 1, global_size=1)
    assert order == ["before", "after"]
    assert out.numpy() == [2]
    with intercepting(lambda launch, run: None):
        add(out, out, out, 1, global_size=1)
    assert out.numpy() == [2]


def test_an_interceptor_is_this_threads_alone(device):
    seen = []
    add, one, out = kernel(ADD), floats(1), floats(0)
    with intercepting(lambda launch, run: (seen.append(launch), run())):
        thread = threading.Thread(target=lambda: add(one, one, out, 1, global_size=1))
        thread.start()
        thread.join()
    assert not seen
    assert out.numpy() == [2]


def test_two_threads_launch_the_same_kernel_without_mixing_arguments(device):
    if device.is_simulator:
        pytest.skip("Oclgrind itself is not thread-safe")
    add, wrong = kernel(ADD), []

    def work(value):
        a = Array.from_numpy(np.full(1000, value, np.float32))
        for _ in range(100):
            out = Array.empty((1000,))
            add(a, a, out, 1000, global_size=1024, local_size=64)
            if not (out.numpy() == 2 * value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(v,)) for v in (1, 10, 100, 1000)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_with_sync_each_launch_is_waited_for(device, monkeypatch):
    monkeypatch.setattr(program, "_sync", True)
    x, seen = Array.from_numpy(np.zeros(1 << 22, np.float32)), []  # which takes a while
    handle = on_launch(lambda launch: seen.append(launch.event.command_execution_status))
    try:
        elementwise("exp", x)
    finally:
        handle.remove()
    assert seen == [0]  # OpenCL's number for: complete
