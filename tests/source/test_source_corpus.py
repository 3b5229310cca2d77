"""Every kernel of the corpus gives the same bits recorded as plain, and without faults."""

import pytest
from sampling import some
from source.runner import CASES, Recorded, data, is_refused, run_plain, run_recorded

from gpugrad.source import instrument


def check(case, recorded: Recorded, args):
    assert recorded.faults() == []
    assert recorded.counts.max() <= 600  # all events fit
    if is_refused(case.file):
        pytest.skip("the device's own compiler refuses the plain text")
    plain = run_plain(case, args)
    for a, b in zip(plain, recorded.outputs):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_a_recorded_kernel_gives_the_same_bits(name):
    case = CASES[name]
    args = data(case)
    check(case, run_recorded(case, args), args)


@pytest.mark.deep
@pytest.mark.parametrize("name", some(CASES, every=6))
def test_watching_every_variable_changes_nothing(name):
    case = CASES[name]
    args = data(case, seed=2)
    made = instrument(case.source, case.name, case.defines, watch=("*",))
    check(case, run_recorded(case, args, made), args)


@pytest.mark.parametrize("name", ["values_from_before", "commas_in_indices"])
def test_a_postfix_gives_the_value_from_before_and_a_comma_the_one_behind_it(name):
    case = CASES[name]
    args = data(case, seed=5)
    made = instrument(case.source, case.name, watch=("*",))
    check(case, run_recorded(case, args, made), args)


@pytest.mark.deep
@pytest.mark.parametrize("name", some(CASES, every=6, first=3))
def test_recording_faults_only_changes_nothing(name):
    case = CASES[name]
    args = data(case, seed=3)
    made = instrument(case.source, case.name, case.defines, faults_only=True)
    recorded = run_recorded(case, args, made)
    check(case, recorded, args)
    assert recorded.counts.max() == 0
