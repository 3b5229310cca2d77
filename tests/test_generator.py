"""Generators and seeds: the same numbers again, other ones, states, permutations, and threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import kernels
from gpugrad.generator import Generator


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(device):
    gg.manual_seed(3)
    first = [gg.rand(5).numpy(), gg.randn(2, 3).numpy(), gg.randperm(10).numpy()]
    gg.manual_seed(3)
    again = [gg.rand(5).numpy(), gg.randn(2, 3).numpy(), gg.randperm(10).numpy()]
    gg.manual_seed(4)
    assert all((a == b).all() for a, b in zip(first, again))
    assert (gg.rand(5).numpy() != first[0]).any()


def test_a_saved_state_goes_on_where_it_was(device):
    generator = Generator(8)
    kernels.normal((100,), generator=generator)
    state = generator.get_state()
    expected = kernels.normal((50,), generator=generator).numpy()
    assert (kernels.normal((50,), generator=Generator().set_state(state)).numpy() == expected).all()
    assert (kernels.normal((50,), generator=generator.set_state(state)).numpy() == expected).all()


def test_generators_without_a_seed_differ():
    assert Generator().seed != Generator().seed


@pytest.mark.parametrize("seed", [-1, -(2**63), 2**64 - 1, np.int64(5)])
def test_seeds_of_64_bits_are_taken(seed):
    assert Generator(seed).seed == int(seed) % 2**64


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_longer_seeds_are_refused(seed):
    with pytest.raises(ValueError, match="manual_seed: seed is"):
        gg.manual_seed(seed)


@pytest.mark.parametrize("seed", [1.0, "1", None, True])
def test_a_seed_is_an_integer(seed):
    with pytest.raises(TypeError, match="manual_seed: seed is"):
        Generator(1).manual_seed(seed)


@pytest.mark.parametrize("state", [None, {}, {"seed": 1}, {"seed": 1, "offset": "2"}, {"seed": 1, "offset": 0, "x": 0}])
def test_a_wrong_state_is_refused_and_changes_nothing(state):
    generator = Generator(5)
    with pytest.raises(TypeError, match="set_state"):
        generator.set_state(state)
    with pytest.raises(ValueError, match="set_state: offset"):
        generator.set_state({"seed": 0, "offset": -1})
    assert generator.get_state() == {"seed": 5, "offset": 0}


def test_threads_get_different_numbers():
    generator = Generator(6)
    taken: list[int] = []

    def draw():
        for _ in range(2000):
            taken.append(generator.take(3)[1])

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(taken) == list(range(0, 24000, 3))


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_a_permutation_holds_each_number_once(n):
    found = Generator(1).permutation(n)
    assert found.dtype == np.int32
    assert sorted(found.tolist()) == list(range(n))


def test_all_permutations_come_up_equally_often():
    generator, counts = Generator(2), {}
    for _ in range(6000):
        key = tuple(generator.permutation(3).tolist())
        counts[key] = counts.get(key, 0) + 1
    # 1,000 each, with a standard deviation of 29.
    assert len(counts) == 6 and all(abs(c - 1000) < 150 for c in counts.values())


def test_a_permutation_too_long_to_index_is_refused():
    with pytest.raises(ValueError, match="randperm: n is 1099511627776"):
        gg.randperm(2**40)
