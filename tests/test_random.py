"""Random numbers on the device: their bits, and the distributions that are made of them."""

from __future__ import annotations

import math
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


def test_draws_do_not_overlap(device):
    generator = Generator(5)
    parts = [kernels.uniform((n,), generator=generator).numpy() for n in (3, 8, 1, 5)]
    stream = np.array([(w >> 8) / 2**24 for w in reference_words(5, 24)], np.float32)
    # Each draw begins a new block of four.
    for part, first in zip(parts, (0, 4, 12, 16)):
        assert (part == stream[first : first + len(part)]).all()
    assert generator.offset == 6


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


# Wrong input


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
