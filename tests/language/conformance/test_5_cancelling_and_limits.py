"""The language's text, section 5, Nested protocols: cancelling, depth and number."""

from __future__ import annotations

from strabo_runtime.engine import (
    ChildCancel,
    ChildStart,
    Outcome,
    Parent,
    Start,
    Step,
)
from tests.language.conformance.driver import (
    HOUR,
    T0,
    Run,
    protocol,
    running,
)
from tests.language.conformance.family import KID, PARENT, family, kids, seen

# -- cancelling -------------------------------------------------------------------------------------------------------

CANCELLED = """
states:
  - idle
  - {{name: busy, timeout: {{after: PT2H, event: Late}}}}
  - {{name: leaving, expects: [{{message: Done, from: Worker}}]}}
  - {{name: over, final: success}}
deadline: {{after: PT3H, fail: too late}}
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  {taking}
  - {{from: busy, to: over, trigger: {{event: Late}}}}
  - {{from: leaving, to: over, trigger: {{message: Done}}}}
"""
TAKING = "- {from: busy, to: leaving, trigger: {event: Cancelled}}"


def test_a_cancelled_instance_that_does_not_say_otherwise_fails_with_cancelled() -> None:
    """§5: a cancelled instance ... else it fails with `cancelled`."""
    run = running(CANCELLED.format(taking="- {from: busy, to: leaving, trigger: {message: Ruling}}"))
    made = run.cancel("no need")
    assert (run.it.status, run.it.error) == ("failure", "cancelled")
    assert [output.error for output in made.outputs if isinstance(output, Outcome)] == ["cancelled"]


def test_a_cancelled_instance_takes_its_transition_for_cancelled() -> None:
    """§5: a cancelled instance takes a transition for the event `Cancelled` if it has one."""
    run = running(CANCELLED.format(taking=TAKING))
    run.cancel()
    assert (run.state, run.it.status) == ("leaving", "running")


def test_the_transition_reads_the_reason() -> None:
    """§5: the event `Cancelled`."""
    taking = '- {from: busy, to: leaving, trigger: {event: Cancelled}, actions: [{log: "${ event.payload.reason }"}]}'
    run = running(CANCELLED.format(taking=taking))
    made = run.cancel("no need")
    assert [log for micro in made.micro_steps for log in micro.logs] == ["no need"]


def test_and_lives_on_to_a_final_state() -> None:
    """§5: and lives on to a final state."""
    run = running(CANCELLED.format(taking=TAKING))
    run.cancel()
    run.send("w1", "Done")
    assert (run.state, run.it.status) == ("over", "success")


def test_under_its_deadline() -> None:
    """§5: under its deadline."""
    run = running(CANCELLED.format(taking=TAKING))
    run.advance(HOUR)
    run.cancel()
    run.advance(2 * HOUR)
    assert (run.it.status, run.it.error) == ("failure", "too late")


def test_without_a_transition_in_this_state_it_fails() -> None:
    """§5: takes a transition for the event `Cancelled` *if it has one*, else it fails with `cancelled`."""
    run = running(CANCELLED.format(taking=TAKING))
    run.cancel()
    run.cancel()
    assert (run.it.status, run.it.error) == ("failure", "cancelled")


def test_a_child_is_cancelled_by_its_parent_and_lives_on_where_it_wants_to() -> None:
    """§5: a cancelled instance (a child by `cancel_protocol`) takes a transition for `Cancelled` and lives on."""
    kid = KID.replace("states: [work,", "states: [work, leaving,").replace(
        "transitions:\n",
        "transitions:\n  - {from: work, to: leaving, trigger: {event: Cancelled}}\n"
        "  - {from: leaving, to: well, trigger: {message: Help}}\n",
    )
    host = family(kid=kid)
    host.send("p", host.message("boss", "Whisper", {}, to=("w1",)))
    assert seen(host) == []
    host.send(kids(host)[0], host.message("w1", "Help", {}))
    assert seen(host) == [f"{kids(host)[0]} success"]


def test_the_end_of_a_parent_cancels_its_children() -> None:
    """§4: finishing cancels ... children; §5: a cancelled instance ... fails with `cancelled`."""
    host = family()
    children = kids(host)
    host.send("p", host.message("w1", "Done", {}))
    assert [host.instances[kid].error for kid in children] == ["cancelled"] * 3
    assert seen(host) == []


# -- limits -----------------------------------------------------------------------------------------------------------


def nest(depth: int) -> Step:
    """The start of an instance at this depth that starts a child."""
    run = Run(protocol(PARENT.replace("[1, 2, 3]", "[1]").replace('"${ message.from }"', "$starting.from")))
    message = run.message("boss", "Go", {"n": 1})
    parent = Parent("above", "kid", depth) if depth else None
    return run.take(Start("s", "i1", "above", T0, T0, message, {}, {"Worker": ("w1",)}, parent=parent))


def test_depth_is_at_most_16() -> None:
    """§5: depth is at most 16."""
    (deepest,) = [output for output in nest(15).outputs if isinstance(output, ChildStart)]
    assert deepest.parent.depth == 16
    made = nest(16)
    assert made.verdict == "failed"
    assert "16" in (made.error or "")


COUNTED = """
variables: {some: {type: list<integer>, initial: []}}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: [{message: Go}, {message: Ping}]
    actions:
      - set_variable: {name: some, value: "${ [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(a, a) }"}
      - start_protocol: {protocol: Kid, as: kid, for_each: "some + some + some + some + some"}
  - {from: idle, trigger: {message: Done}, actions: [{start_protocol: {protocol: Kid, as: kid}}]}
  - {from: idle, trigger: {child: kid}}
"""


def test_live_children_are_at_most_1000() -> None:
    """§5: live children 1,000."""
    run = running(COUNTED)
    for _ in range(19):
        assert run.send("boss", "Ping", {}).verdict == "taken"
    assert len(run.it.children) == 1000
    assert run.send("w1", "Done").verdict == "failed"
    run.finish(0)
    assert run.send("w1", "Done").verdict == "taken"
    assert run.send("w1", "Done").verdict == "failed"


def cancels(made: Step) -> list[str]:
    return [output.to for output in made.outputs if isinstance(output, ChildCancel)]


def test_a_child_that_has_ended_is_not_cancelled() -> None:
    """§1 Actions: `cancel_protocol` without a running child does nothing."""
    run = running(PARENT)
    run.finish(0)
    assert cancels(run.send("boss", "Whisper", {}, to=("w1",))) == [run.child(1), run.child(2)]
    assert cancels(run.send("boss", "Whisper", {}, to=("w1",))) == []


def test_a_detached_child_outlives_its_parent() -> None:
    """§4: finishing cancels ... children (not detached ones)."""
    host = family(PARENT.replace("as: kid\n", "as: kid\n          detach: true\n"))
    children = kids(host)
    host.send("p", host.message("w1", "Done", {}))
    assert [host.instances[kid].status for kid in children] == ["running"] * 3
    assert host.send(children[0], host.message("boss", "Finish", {"well": True})).verdict == "taken"
    assert host.instances["p"].status == "success"
