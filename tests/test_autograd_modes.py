"""no_grad, enable_grad and set_grad_enabled: as blocks and decorators, around generators, in threads."""

import contextvars
import threading

import pytest
from samples import leaf

import gpugrad as gg


def test_no_grad_as_block_decorator_and_nested(device):
    x = leaf([1.0])

    @gg.no_grad()
    def quietly():
        return x * 2

    @gg.no_grad
    def too():
        return x * 2

    assert not quietly().requires_grad and not too().requires_grad

    @gg.enable_grad
    def aloud():
        return x * 2

    with gg.no_grad():
        with gg.enable_grad():
            assert (x * 2).requires_grad
        assert aloud().requires_grad and gg.enable_grad()(aloud)().requires_grad
        assert not gg.is_grad_enabled()
    assert gg.is_grad_enabled() and (x * 2).requires_grad
    with pytest.raises(ZeroDivisionError), gg.no_grad():
        1 / 0  # noqa: B018
    assert gg.is_grad_enabled()


@pytest.mark.parametrize("decorate", [gg.no_grad(), gg.no_grad, lambda f: gg.set_grad_enabled(False)(f)])
def test_a_decorated_generator_does_not_record_and_whoever_takes_its_values_does(decorate):
    seen = []

    @decorate
    def parts():
        try:
            while True:
                got = yield gg.is_grad_enabled()
                seen.append((got, gg.is_grad_enabled()))
                if got == "end":
                    return "result"
        except ValueError:
            yield gg.is_grad_enabled()
        finally:
            seen.append(gg.is_grad_enabled())

    g = parts()
    assert next(g) is False and gg.is_grad_enabled()
    assert g.send(1) is False and gg.is_grad_enabled()
    assert g.throw(ValueError) is False and gg.is_grad_enabled()
    g.close()
    g = parts()
    next(g)
    with pytest.raises(StopIteration) as end:
        g.send("end")
    assert end.value.value == "result"
    g = parts()
    next(g)
    with pytest.raises(KeyError):
        g.throw(KeyError)
    assert seen == [(1, False), False, ("end", False), False, False]
    assert gg.is_grad_enabled() and parts.__name__ == "parts"


def test_a_block_can_end_in_another_context_than_it_began_in():
    block = gg.no_grad()
    contextvars.copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    assert gg.is_grad_enabled()


def test_a_function_decorated_with_no_grad_runs_in_two_threads_at_once():
    both, states = threading.Barrier(2), []

    @gg.no_grad()
    def work():
        both.wait()
        states.append(gg.is_grad_enabled())
        both.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert states == [False, False]
    assert gg.is_grad_enabled()


def test_set_grad_enabled_acts_at_once_in_a_block_and_as_a_decorator():
    gg.set_grad_enabled(False)
    try:
        assert not gg.is_grad_enabled()
    finally:
        gg.set_grad_enabled(True)
    with gg.set_grad_enabled(False):
        assert not gg.is_grad_enabled()
    assert gg.is_grad_enabled()

    @gg.set_grad_enabled(False)
    def state():
        return gg.is_grad_enabled()

    assert gg.is_grad_enabled()
    assert not state()
    assert gg.is_grad_enabled()
