"""The counter-based generator: its bits, what is made of them, its state."""

from __future__ import annotations

import math
import threading
from statistics import NormalDist

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import kernels
from gpugrad.generator import Generator, philox
from gpugrad.kernels.random import quantile_table

# Known answers from the authors' Random123 library, file kat_vectors: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_the_kernel_gives_the_known_answers(device, counter, key, answer):
    assert tuple(kernels.random_words(4, counter, key).numpy().view(np.uint32)) == answer


def test_the_host_gives_the_known_answer():
    assert tuple(philox(0, 0, 1)[0]) == KNOWN[0][2]


@pytest.mark.parametrize("offset", [0, 2**32 - 2, 2**64 - 2])
def test_the_counter_carries_from_word_to_word_and_host_and_device_agree(device, offset):
    seed = 0x299F31D0A4093822
    counter = (offset & 0xFFFFFFFF, offset >> 32, 0, 0)
    words = kernels.random_words(19, counter, (seed & 0xFFFFFFFF, seed >> 32)).numpy().view(np.uint32)
    with np.errstate(over="ignore"):
        assert (words == philox(seed, offset, 5).reshape(-1)[:19]).all()


def reference_words(seed, n):
    """Philox4x32-10 in Python integers, word by word."""
    result = []
    for block in range(-(-n // 4)):
        c0, c1, c2, c3 = block & 0xFFFFFFFF, block >> 32, 0, 0
        k0, k1 = seed & 0xFFFFFFFF, seed >> 32
        for _ in range(10):
            p, q = 0xD2511F53 * c0, 0xCD9E8D57 * c2
            c0, c1, c2, c3 = (q >> 32) ^ c1 ^ k0, q & 0xFFFFFFFF, (p >> 32) ^ c3 ^ k1, p & 0xFFFFFFFF
            k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
        result += [c0, c1, c2, c3]
    return result[:n]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 257])
def test_float32_uniforms_are_the_top_24_bits_exactly(device, n):
    found = kernels.uniform((n,), generator=Generator(7)).numpy()
    assert found.dtype == np.float32
    assert found.tolist() == [(w >> 8) / 2**24 for w in reference_words(7, n)]


@pytest.mark.parametrize("n", [0, 1, 3, 101])
def test_float64_uniforms_are_the_top_53_bits_exactly(device, n):
    if not device.has_float64:
        pytest.skip("the device has no float64")
    words = reference_words(2**63 + 1, 2 * n)
    found = kernels.uniform((n,), np.float64, generator=Generator(2**63 + 1)).numpy()
    assert found.tolist() == [((words[2 * i] << 32 | words[2 * i + 1]) >> 11) / 2**53 for i in range(n)]


@pytest.mark.parametrize("reach", [1.0, 0.3, 1e-3])
def test_symmetric_uniforms_round_once(device, reach):
    found = kernels.uniform((500,), low=-reach, high=reach, generator=Generator(7)).numpy()
    exact = [((w >> 8) - 2**23) / 2**23 for w in reference_words(7, 500)]
    # A product of two numbers of 24 bits is exact in float64, and so rounds to float32 once.
    assert (found == (np.array(exact) * np.float32(reach)).astype(np.float32)).all()


def test_uniforms_between_two_bounds(device):
    found = kernels.uniform((5000,), low=2, high=5, generator=Generator(7)).numpy()
    unit = kernels.uniform((5000,), generator=Generator(7)).numpy()
    np.testing.assert_allclose(found, 2 + 3 * unit.astype(float), rtol=0, atol=5e-7)  # two roundings near 5


@pytest.mark.parametrize("seed", [5, 5 << 32])
@pytest.mark.parametrize("offset", [2**32 - 1, 2**40 + 3, 2**64 - 1])
def test_streams_go_on_past_32_bits_of_seed_and_offset(device, seed, offset):
    generator = Generator().set_state({"seed": seed, "offset": offset})
    found = kernels.uniform((6,), generator=generator).numpy()
    with np.errstate(over="ignore"):
        words = philox(seed, offset, 2).reshape(-1)[:6]
    assert (found == (words >> np.uint32(8)) / 2**24).all()


def horner(table, x64, dtype, contracted):
    """random.cl's quantile in NumPy, with a * b + c rounded once (`contracted`) or twice."""
    wide = np.longdouble

    def mad(a, b, c):
        return (wide(a) * wide(b) + wide(c)).astype(dtype) if contracted else dtype(dtype(a * b) + c)

    found = []
    for x in x64:
        below = x < 2**63
        m = x if below else 2**64 - x
        y = dtype(2**63 - m) * dtype(2.0**-64)
        halvings = 64 - m.bit_length()
        if halvings == 1:
            row, t = table[0], mad(dtype(32) * y, y, dtype(-1))
        else:
            inside = (m << (halvings + 1)) % 2**64
            row = table[1 + 8 * (halvings - 2) + (inside >> 61)]
            t = dtype((inside << 3) % 2**64 - 2**63) * dtype(2.0**-63)
        z = row[-1]
        for c in row[-2::-1]:
            z = mad(z, t, c)
        z = z * y if halvings == 1 else z
        found.append(-z if below else z)
    return np.array(found, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normals_agree_within_4_ulp_however_a_device_contracts_products_and_sums(device, dtype):
    if dtype == np.float64 and not device.has_float64:
        pytest.skip("the device has no float64")
    n = 4000
    words = reference_words(11, 2 * n)
    if dtype == np.float32:
        x64 = [w << 32 | 1 << 31 for w in words[:n]]
    else:
        x64 = [words[2 * i] << 32 | words[2 * i + 1] | 1 for i in range(n)]
    found = kernels.normal((n,), dtype, generator=Generator(11)).numpy()
    table = quantile_table(6 if dtype == np.float32 else 13).astype(dtype)
    for contracted in (False, True):
        expected = horner(table, x64, dtype, contracted)
        # Devices may differ in contraction only: + and * are rounded correctly everywhere.
        assert (np.abs(found - expected) <= 2 * np.spacing(np.abs(expected))).all()


def test_normals_are_the_quantiles_of_their_uniforms(device):
    n = 4000
    words = reference_words(12, n)
    inverse = NormalDist().inv_cdf
    # Mirrored, as 1 - p loses the digits that a small p has.
    expected = np.array(
        [inverse((w + 0.5) / 2**32) if w < 2**31 else -inverse((2**32 - 0.5 - w) / 2**32) for w in words]
    )
    found = kernels.normal((n,), generator=Generator(12)).numpy()
    # One rounding each of y, of the polynomial and of their product, of at most half an ulp or twice that.
    assert (np.abs(found - expected) <= 3 * np.spacing(np.abs(found))).all()


def test_float64_normals_are_quantiles_to_14_digits(device):
    if not device.has_float64:
        pytest.skip("the device has no float64")
    n = 2000
    words = reference_words(13, 2 * n)
    inverse = NormalDist().inv_cdf
    found = kernels.normal((n,), np.float64, generator=Generator(13)).numpy()
    for i, z in enumerate(found):
        x = words[2 * i] << 32 | words[2 * i + 1] | 1
        mirrored = min(x, 2**64 - x)
        expected = math.copysign(inverse(mirrored / 2**64), z)
        assert (z < 0) == (x < 2**63)
        # 1e-14 is Python's own inverse; next to z = 0 it knows p to 2^-54 only, and z is 2.5 times as far off.
        assert abs(z - expected) <= 1e-14 * abs(expected) + 2.0**-52


@pytest.mark.parametrize(("terms", "digits"), [(6, 5e-8), (13, 1e-14)])
def test_every_row_of_the_table_is_the_quantile_on_its_segment(terms, digits):
    inverse = NormalDist().inv_cdf
    table = quantile_table(terms)
    assert table.shape == (1 + 8 * 62, terms)
    for row in range(1, len(table)):
        halvings, segment = 2 + (row - 1) // 8, (row - 1) % 8
        for t in (-1.0, -0.3, 1.0):
            p = (1 + (segment + (t + 1) / 2) / 8) * 2.0 ** -(halvings + 1)
            assert np.polyval(table[row][::-1], t) == pytest.approx(-inverse(p), rel=digits)
    for y in (0.25, 0.2, 0.01):
        assert y * np.polyval(table[0][::-1], 32 * y * y - 1) == pytest.approx(-inverse(0.5 - y), rel=digits)


@pytest.mark.large
def test_uniforms_and_normals_have_their_distribution(device):
    n = 200_000
    u = np.sort(kernels.uniform((n,), generator=Generator(1)).numpy().astype(float))
    z = np.sort(kernels.normal((n,), generator=Generator(1)).numpy().astype(float))
    steps = np.arange(1, n + 1) / n
    phi = np.array([NormalDist().cdf(v) for v in z[:: n // 1000]])
    # Kolmogorov and Smirnov: sqrt(n) D exceeds 2.2 once in 8,000 seeds; the seed is fixed.
    assert np.abs(u - steps).max() * math.sqrt(n) < 2.2
    assert np.abs(phi - steps[:: n // 1000]).max() * math.sqrt(n) < 2.2
    # Neighbours, and places 4 apart, are independent: correlations are about 1 / sqrt(n).
    raw = kernels.normal((n,), generator=Generator(2)).numpy().astype(float)
    for lag in (1, 2, 3, 4, 64):
        assert abs(np.corrcoef(raw[:-lag], raw[lag:])[0, 1]) < 5 / math.sqrt(n)


def test_mean_and_std_of_normal(device):
    z = kernels.normal((1001,), generator=Generator(3)).numpy()
    shifted = kernels.normal((1001,), mean=-2.0, std=0.25, generator=Generator(3)).numpy()
    np.testing.assert_allclose(shifted, -2 + 0.25 * z.astype(float), rtol=0, atol=1e-6)


@pytest.mark.parametrize("p", [0.0, 0.25, 0.9, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.bool_])
def test_bernoulli_is_one_where_the_word_is_below_p(device, p, dtype):
    if dtype == np.float64 and not device.has_float64:
        pytest.skip("the device has no float64")
    found = kernels.bernoulli((7, 15), p, dtype, generator=Generator(4)).numpy()
    expected = np.array([w < p * 2**32 for w in reference_words(4, 105)]).reshape(7, 15)
    assert found.dtype == dtype
    assert (found == expected).all()


def test_dropout_kernel_keeps_scales_and_zeroes(device, rng):
    x = rng.standard_normal((5, 13)).astype(np.float32)
    found = kernels.dropout(gg.Array.from_numpy(x), 0.3, 9, 0).numpy()
    dropped = np.array([w < round(0.3 * 2**32) for w in reference_words(9, 65)]).reshape(5, 13)
    np.testing.assert_allclose(found, np.where(dropped, 0, x / 0.7), rtol=3e-7)  # 1/0.7 and the product rounded
    assert (found[dropped] == 0).all()


def test_a_word_that_is_the_threshold_itself_is_not_below_it(device):
    words = reference_words(4, 8)
    for threshold in words[:3]:
        below, p = np.array([w < threshold for w in words]), threshold / 2**32
        assert (kernels.bernoulli((8,), p, generator=Generator(4)).numpy() == below).all()
        kept = kernels.dropout(gg.Array.from_numpy(np.ones(8, np.float32)), p, 4, 0).numpy()
        assert ((kept == 0) == below).all()


def test_dropout_of_everything_is_zero_even_of_nan_and_infinity(device):
    x = gg.Array.from_numpy(np.array([1, np.nan, np.inf, -np.inf, 0], np.float32))
    assert kernels.dropout(x, 1.0, 1, 0).numpy().tolist() == [0] * 5


def test_dropout_in_place(device):
    x = gg.Array.from_numpy(np.ones(1000, np.float32))
    expected = kernels.dropout(x, 0.5, 1, 2).numpy()
    assert (kernels.dropout(x, 0.5, 1, 2, out=x).numpy() == expected).all()


# Generator and seeds


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(device):
    gg.manual_seed(3)
    first = [gg.rand(5).numpy(), gg.randn(2, 3).numpy(), gg.randperm(10).numpy()]
    gg.manual_seed(3)
    again = [gg.rand(5).numpy(), gg.randn(2, 3).numpy(), gg.randperm(10).numpy()]
    gg.manual_seed(4)
    assert all((a == b).all() for a, b in zip(first, again))
    assert (gg.rand(5).numpy() != first[0]).any()


def test_draws_do_not_overlap(device):
    generator = Generator(5)
    parts = [kernels.uniform((n,), generator=generator).numpy() for n in (3, 8, 1, 5)]
    stream = np.array([(w >> 8) / 2**24 for w in reference_words(5, 24)], np.float32)
    # Each draw begins a new block of four.
    for part, first in zip(parts, (0, 4, 12, 16)):
        assert (part == stream[first : first + len(part)]).all()
    assert generator.offset == 6


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


# Tensors


def test_rand_and_randn_take_sizes_or_a_tuple(device):
    assert gg.rand(2, 3).shape == gg.rand((2, 3)).shape == gg.randn([2, 3]).shape == (2, 3)
    assert gg.rand().shape == () and gg.randn(0, 4).shape == (0, 4)
    assert gg.randn(2, requires_grad=True).requires_grad and gg.rand(2).dtype == np.float32
    like = gg.zeros(3, 1)
    assert gg.rand_like(like).shape == gg.randn_like(like).shape == (3, 1)


def test_a_generator_of_its_own_leaves_the_default_one_alone(device):
    gg.manual_seed(1)
    before = gg.default_generator.get_state()
    for draw in (gg.rand, gg.randn, gg.randperm):
        draw(3, generator=gg.Generator(5))
    assert gg.default_generator.get_state() == before


# Dropout


@pytest.mark.large
def test_dropout_zeroes_a_fraction_p_and_keeps_the_mean(device):
    gg.manual_seed(1)
    y = gg.autograd.ops.dropout(gg.ones(100_000), 0.2).numpy()
    assert set(np.unique(y)) == {0, np.float32(1.25)}
    assert abs((y == 0).mean() - 0.2) < 5 * math.sqrt(0.2 * 0.8 / 100_000)


def test_dropout_draws_another_mask_each_time(device):
    x = gg.ones(1000)
    dropout = gg.autograd.ops.dropout
    assert (dropout(x).numpy() != dropout(x).numpy()).any()


@pytest.mark.parametrize("kwargs", [{"training": False}, {"p": 0.0}])
def test_dropout_that_drops_nothing_gives_its_input_and_draws_nothing(device, kwargs):
    x = gg.ones(10)
    before = gg.default_generator.get_state()
    assert gg.autograd.ops.dropout(x, **kwargs) is x
    assert gg.default_generator.get_state() == before


@pytest.mark.parametrize("p", [0.4, 1.0])
def test_the_gradient_of_dropout_goes_through_the_same_mask(device, rng, p):
    x = gg.ones(37, 3, requires_grad=True)
    y = gg.autograd.ops.dropout(x, p)
    g = gg.tensor(rng.standard_normal((37, 3)).astype(np.float32))
    y.backward(g)
    np.testing.assert_allclose(x.grad.numpy(), y.detach().numpy() * g.numpy(), rtol=2e-7)  # two roundings each


def test_dropout_differentiates_twice(device):
    x = gg.ones(50, requires_grad=True)
    w = gg.ones(50, requires_grad=True)
    y = gg.autograd.ops.dropout(x * w, 0.5)
    (gx,) = gg.grad(y, x, gg.ones(50), create_graph=True)
    (gw,) = gg.grad(gx, w, gg.ones(50))
    assert (gw.numpy() == y.detach().numpy()).all()


def test_dropout_passes_gradcheck_and_gradgradcheck(device, rng):
    x = gg.tensor(rng.standard_normal((3, 7)), requires_grad=True)

    def f(x):
        gg.manual_seed(1)  # the same mask at each call
        return gg.autograd.ops.dropout(x * x, 0.4)

    assert gg.gradcheck(f, x)
    assert gg.gradgradcheck(f, x)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: gg.rand(2.0), TypeError),
        (lambda: gg.rand(-1), ValueError),
        (lambda: gg.randn(2, dtype=gg.int32), TypeError),
        (lambda: gg.rand(2, generator=5), TypeError),
        (lambda: gg.randperm(-1), ValueError),
        (lambda: gg.randperm(2.0), TypeError),
        (lambda: gg.rand_like(3), TypeError),
        (lambda: kernels.uniform((2,), low=1, high=0), ValueError),
        (lambda: kernels.uniform((2,), high=math.inf), ValueError),
        (lambda: kernels.normal((2,), std=-1), ValueError),
        (lambda: kernels.normal((2,), mean=float("nan")), ValueError),
        (lambda: kernels.bernoulli((2,), 1.5), ValueError),
        (lambda: kernels.bernoulli((2,), "x"), TypeError),
        (lambda: kernels.random_words(3, (0, 0, 0), (0, 0)), ValueError),
        (lambda: kernels.random_words(3, (0, 0, 0, 2**32), (0, 0)), ValueError),
        (lambda: kernels.uniform((2,), out=gg.Array.empty((3,))), ValueError),
        (lambda: kernels.dropout(gg.Array.empty((3,), gg.int32), 0.5, 0, 0), TypeError),
        (lambda: kernels.dropout(gg.Array.empty((3,)), 0.5, -1, 0), ValueError),
        (lambda: gg.autograd.ops.dropout(gg.zeros(2), 1.1), ValueError),
        (lambda: gg.autograd.ops.dropout(gg.zeros(2), -0.1), ValueError),
        (lambda: gg.autograd.ops.dropout([1.0]), TypeError),
    ],
)
def test_wrong_arguments_are_refused(device, call, error):
    with pytest.raises(error):
        call()


def test_a_permutation_too_long_to_index_is_refused():
    with pytest.raises(ValueError, match="randperm: n is 1099511627776"):
        gg.randperm(2**40)
