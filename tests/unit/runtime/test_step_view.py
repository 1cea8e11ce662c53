"""What one recorded step was, as people read it."""

from __future__ import annotations

import orjson

from strabo_runtime.step_view import StepView, view_line
from tests.unit.worker.family import FamilyBench, begin, cancel, judge, say


def views() -> dict[str, StepView]:
    """A view of each kind of step, by the kind of its input; of the last one each."""
    bench = FamilyBench()
    bench.directory.apply(judge("j2"))
    bench.take(begin("p", [3, 4]), say("p", "Note", {"number": 5}, id="held"), say("p", "Ask", {"count": 1}))
    bench.pass_on()
    bench.take(say("p:1:child:0", "Decide", {"well": True}, sender="j1", protocol="Part"))
    bench.pass_on()
    bench.take(say("p", "Close", {}), cancel("p"))
    found = {orjson.loads(one.input)["kind"]: StepView.of(one) for one in bench.steps()}
    return found | {"first": StepView.of(bench.steps()[0]), "decided": StepView.of(bench.steps()[5])}


def test_every_kind_of_input_has_a_name_and_a_sender() -> None:
    found = views()

    assert {
        kind: (view.name, view.sender) for kind, view in found.items() if kind not in ("first", "decided")
    } == {
        "start": ("start", "p"),
        "message": ("Close", "boss"),
        "retry": ("again held", ""),
        "child_event": ("Half", "p:1:child:0"),
        "child_finished": ("child ended: success", "p:1:child:0"),
        "agents_found": ("agents found", "(directory)"),
        "cancel": ("cancel", "operator"),
    }


def test_what_a_step_tells_other_instances_and_asks_of_the_directory_is_its_effect() -> None:
    found = views()

    assert found["first"].effect == "starts Part as p:1:child:0; starts Part as p:1:child:1"
    assert "cancels p:1:child:1" in found["cancel"].effect
    assert found["cancel"].ends


def test_a_step_is_one_line() -> None:
    assert all("\n" not in view_line(view) for view in views().values())
