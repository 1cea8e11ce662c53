"""The order of calls of a take-over, explored in every interleaving."""

from __future__ import annotations

import pytest

from tests.unit.worker.takeover_model import Bounds, explore

pytestmark = pytest.mark.slow


def test_no_input_is_taken_twice_or_skipped_however_two_workers_take_over() -> None:
    finding = explore(Bounds(workers=2, take_overs=3, inputs=2))

    assert finding.violation is None
    assert finding.most_steps == 2
    assert finding.worlds > 10_000


@pytest.mark.slow
def test_no_input_is_taken_twice_or_skipped_however_three_workers_take_over() -> None:
    finding = explore(Bounds(workers=3, take_overs=3, inputs=2))

    assert finding.violation is None
    assert finding.most_steps == 2


def test_with_a_single_owner_key_a_claimant_that_dies_hides_the_owner_before_it() -> None:
    finding = explore(Bounds(workers=3, take_overs=3, inputs=2, one_owner_key=True))

    assert finding.violation is not None
    taken = [
        entry.taken for entry in finding.violation if entry.kind == "step" and entry.status == "committed"
    ]
    assert taken == [0, 0]
