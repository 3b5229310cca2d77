"""Ladders: the variants of a family, and which of them runs."""

import pytest

from gpugrad.kernels import use_kernels, variants
from gpugrad.kernels.ladder import resolve, variant


@pytest.fixture
def ladder(monkeypatch):
    from gpugrad.kernels import ladder as module

    monkeypatch.setattr(module, "_ladders", {})
    variant("fold", "naive")(lambda kernel: ("naive", kernel))
    variant("fold", "fast")(lambda kernel: ("fast", kernel))


def test_a_ladder_lists_its_rungs_simplest_first(ladder):
    assert variants("fold") == ["naive", "fast"]


def test_the_rung_asked_for_wins_over_the_block_and_the_block_over_the_default(ladder):
    def chosen(name=None):
        run, swapped = resolve("fold", name, "fast")
        return run(swapped)

    assert chosen() == ("fast", None)
    with use_kernels(fold="naive"):
        assert chosen() == ("naive", None)
        assert chosen("fast") == ("fast", None)

        def mine():
            pass

        with use_kernels(fold=mine):
            assert chosen() == ("naive", mine)
        assert chosen() == ("naive", None)
    assert chosen() == ("fast", None)


def test_unknown_rungs_and_families_are_refused_with_those_there_are(ladder):
    with pytest.raises(ValueError, match="there is naive, fast"):
        resolve("fold", "best", "fast")
    with pytest.raises(ValueError, match="no kernel family 'spindle'; there is fold"):
        variants("spindle")
    with pytest.raises(ValueError, match="there is naive, fast"), use_kernels(fold="best"):
        pass
    with pytest.raises(TypeError, match="variant's name"), use_kernels(fold=3):
        pass
    for wrong in (3, ["naive"], abs):
        with pytest.raises(TypeError, match=r"fold: variant is .*a name \(naive, fast\)"):
            resolve("fold", wrong, "fast")
    for wrong in ([], None, 3):
        with pytest.raises(TypeError, match=r"family is .*the name of a kernel family: fold"):
            variants(wrong)
