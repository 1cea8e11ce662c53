"""The language's text, section 1, the table of a file's keys: what each is, and when it is evaluated."""

from __future__ import annotations

from uuid import uuid4

import pytest

from strabo_runtime.engine import Outcome, Step
from strabo_runtime.publishing import publish_machine
from strabo_topics.errors import VersionConflict
from strabo_topics.settings import KafkaSettings
from tests.language.conformance.driver import (
    HEAD,
    HOUR,
    MINUTE,
    Run,
    errors_of,
    protocol,
    refusal,
    running,
)
from tests.support.services import BrokerService

ENDING = """
states: [idle, {name: over, final: success}]
transitions: [{from: idle, to: over, trigger: {message: Go}}]
"""


def codes(body: str, *, head: str = HEAD) -> list[str]:
    """The codes of what is wrong with a file."""
    return [one.code for one in errors_of(body, head=head)]


def headed(old: str, new: str) -> str:
    """The head that the protocols share, with one line replaced."""
    assert old in HEAD
    return HEAD.replace(old, new)


# -- protocol, version, description -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["A", "a", "Order2", "order_of_things", "X_"])
def test_a_name_is_letters_digits_and_underscores(name: str) -> None:
    """§1: `protocol`: name, `[A-Za-z][A-Za-z0-9_]*`."""
    assert protocol(ENDING, head=headed("protocol: Sample", f"protocol: {name}")).name == name


@pytest.mark.parametrize("name", ["2nd", "_a", "a-b", "a.b", "a b", "é", '""'])
def test_another_name_is_an_error(name: str) -> None:
    """§1: `protocol`: name, `[A-Za-z][A-Za-z0-9_]*`."""
    (code,) = codes(ENDING, head=headed("protocol: Sample", f"protocol: {name}"))
    assert code in ("bad-name", "wrong-type", "bad-value")


SECTIONS = {
    "protocol": "protocol: Sample\n",
    "version": 'version: "1"\n',
    "participants": "participants: [{name: Boss}, {name: Desk, played_by: engine}]\n",
    "message_types": "message_types: {Go: {from: Boss, to: Desk}}\n",
    "states": "states: [idle, {name: over, final: success}]\n",
    "transitions": "transitions: [{from: idle, to: over, trigger: {message: Go}}]\n",
}


def test_what_is_required_is_all_that_a_file_needs() -> None:
    """§1: `protocol`, `version`, `participants`, `message_types`, `states`, `transitions`: required."""
    assert codes("", head="".join(SECTIONS.values())) == []


@pytest.mark.parametrize("key", list(SECTIONS))
def test_each_required_key_is_missed(key: str) -> None:
    """§1: `protocol`, `version`, `participants`, `message_types`, `states`, `transitions`: required."""
    found = errors_of("", head="".join(text for name, text in SECTIONS.items() if name != key))
    assert any(one.code == "missing-key" and key in one.message for one in found)


@pytest.mark.parametrize("written", ["1", "1.0", "true"])
def test_a_version_that_is_no_text_is_an_error(written: str) -> None:
    """§1: `version`: text."""
    assert codes(ENDING, head=headed('version: "1"', f"version: {written}")) == ["wrong-type"]


def test_a_version_is_any_text() -> None:
    """§1: `version`: text."""
    assert protocol(ENDING, head=headed('version: "1"', "version: 1.0.0-beta")).version == "1.0.0-beta"


async def test_a_published_name_and_version_keeps_its_content(embedded_broker: BrokerService) -> None:
    """§1: a published name@version never changes its content."""
    settings = KafkaSettings(
        kafka_bootstrap_servers=embedded_broker.bootstrap, namespace=f"test-{uuid4().hex[:8]}", partitions=1
    )
    text = HEAD + ENDING
    assert await publish_machine(settings, protocol(ENDING), text)
    assert not await publish_machine(settings, protocol(ENDING), text)
    other = ENDING + "description: Changed.\n"
    with pytest.raises(VersionConflict):
        await publish_machine(settings, protocol(other), HEAD + other)


def test_a_description_is_text() -> None:
    """§1: `description`: text."""
    assert protocol(f"description: What it is for.\n{ENDING}").description == "What it is for."
    assert codes(f"description: 3\n{ENDING}") == ["wrong-type"]


# -- types, events, inputs, variables ---------------------------------------------------------------------------------

TYPED = """
types:
  Money: number
  Line: {name: string, price: Money}
variables:
  lines: {type: list<Line>, initial: "${ LINES }"}
""".replace("LINES", "[{'name': 'a', 'price': 1.5}]")


def test_a_type_is_an_alias_or_a_record() -> None:
    """§1: `types`: named payload types, or aliases."""
    run = running(TYPED + ENDING)
    assert run.variables["lines"] == [{"name": "a", "price": 1.5}]


EVENTFUL = """
{events}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}, actions: [{{emit: {emit}}}]}}
  - {{from: idle, to: over, trigger: {{event: Sold}}}}
"""


def test_events_are_optional() -> None:
    """§1: `events`: optional."""
    emit = "{event: Sold, payload: {whatever: 1}}"
    assert running(EVENTFUL.format(events="", emit=emit)).state == "over"


def test_an_events_payload_has_typed_fields() -> None:
    """§1: `events`: event name → typed fields of its payload."""
    events = "events: {Sold: {price: number}}"
    assert running(EVENTFUL.format(events=events, emit="{event: Sold, payload: {price: 2}}")).state == "over"
    wrong = EVENTFUL.format(events=events, emit="{event: Sold, payload: {price: much}}")
    assert codes(wrong) == ["expression-type"]
    assert codes(EVENTFUL.format(events=events, emit="{event: Sold}")) == ["missing-field"]


INPUTS = """
inputs:
  size: integer
  colour: {type: string, default: "${ starting.payload.n == 1 ? 'red' : 'blue' }"}
"""


def test_the_starter_passes_inputs_in() -> None:
    """§1: `inputs`: typed values that the starter passes in."""
    run = running(INPUTS + ENDING, inputs={"size": 3, "colour": "green"})
    assert dict(run.variables) == {"size": 3, "colour": "green"}


def test_an_input_has_a_default() -> None:
    """§1: `inputs`: with `default`."""
    assert running(INPUTS + ENDING, inputs={"size": 3}).variables["colour"] == "red"
    run = running(INPUTS + ENDING, inputs={"size": 3}, payload={"n": 2})
    assert run.variables["colour"] == "blue"


@pytest.mark.parametrize("inputs", [{}, {"size": "big"}, {"size": 1, "sise": 2}])
def test_an_input_that_does_not_fit_refuses_the_start(inputs: dict[str, object]) -> None:
    """§1: `inputs`: typed values that the starter passes in."""
    run = Run(protocol(INPUTS + ENDING))
    assert refusal(run.start(inputs=inputs)).by == "schema"
    assert run.instance is None


def test_a_variable_begins_with_its_initial() -> None:
    """§1: `variables`: typed instance variables with `initial`."""
    run = running(f"variables: {{n: {{type: integer, initial: 7}}}}\n{ENDING}")
    assert run.variables["n"] == 7


def test_a_variable_is_typed() -> None:
    """§1: `variables`: typed instance variables."""
    assert codes(f"variables: {{n: {{type: integer, initial: seven}}}}\n{ENDING}") == ["expression-type"]


def test_an_initial_is_required() -> None:
    """§1: `variables`: `initial` (required unless the type is optional)."""
    assert codes(f"variables: {{n: {{type: integer}}}}\n{ENDING}") == ["missing-initial"]


def test_an_optional_variable_needs_no_initial() -> None:
    """§1: `variables`: `initial` (required unless the type is optional)."""
    assert running(f"variables: {{n: {{type: integer?}}}}\n{ENDING}").variables["n"] is None


# -- labels, result ---------------------------------------------------------------------------------------------------

COUNTING = """
variables: {n: {type: integer, initial: 0}}
labels: {twice: "${ n * 2 }", bad: "${ 10 / n }"}
result: {n: $n, bad: "${ 10 / (n - n) }"}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - from: idle
    trigger: {message: Ping}
    actions: [{emit: {event: Again}}, {set_variable: {name: n, value: "${ n + 1 }"}}]
  - {from: idle, trigger: {event: Again}, actions: [{set_variable: {name: n, value: "${ n + 1 }"}}]}
  - {from: idle, to: over, trigger: {message: Done}}
"""


def test_labels_are_evaluated_when_a_step_settles() -> None:
    """§1: `labels`: name → expression, evaluated when a step settles."""
    run = running(COUNTING)
    run.send("boss", "Ping", {})
    assert dict(run.it.labels) == {"twice": 4, "bad": 5}


def test_a_label_that_fails_is_null() -> None:
    """§1: `labels`: (null where it fails)."""
    run = running(COUNTING)
    assert dict(run.it.labels) == {"twice": 0, "bad": None}


def finished() -> tuple[Run, Step, Outcome]:
    """The instance that counts, at its end."""
    run = running(COUNTING)
    made = run.send("w1", "Done")
    (outcome,) = (output for output in made.outputs if isinstance(output, Outcome))
    return run, made, outcome


def test_the_result_is_the_outcome_for_the_starter() -> None:
    """§1: `result`: name → expression: the outcome for the starter and a parent."""
    _run, _made, outcome = finished()
    assert (outcome.to, outcome.status, outcome.result) == ("boss", "success", {"n": 0, "bad": None})


def test_the_result_is_the_outcome_for_a_parent() -> None:
    """§1: `result`: name → expression: the outcome for the starter and a parent."""
    run = Run(protocol(COUNTING))
    run.start_as_child(Boss=("boss",))
    (outcome,) = (output for output in run.send("w1", "Done").outputs if isinstance(output, Outcome))
    assert (outcome.to, outcome.to_parent, outcome.result) == ("p1", True, {"n": 0, "bad": None})


def test_an_entry_of_the_result_that_fails_is_null_and_undoes_nothing() -> None:
    """§1: `result`: an entry whose expression fails is null; it never undoes a step."""
    run, made, _outcome = finished()
    assert (made.verdict, run.state, run.it.status) == ("taken", "over", "success")
    assert run.it.result == {"n": 0, "bad": None}


def test_an_entry_of_the_result_that_fails_is_noted() -> None:
    """§1: `result`: an entry whose expression fails is ... noted in the history."""
    _run, made, _outcome = finished()
    assert any("bad" in note and "zero" in note for note in made.notes)


# -- states, transitions, constraints, deadline -----------------------------------------------------------------------


def test_the_first_state_is_initial() -> None:
    """§1: `states`: the first is initial."""
    run = Run(
        protocol(
            "states: [b, a, {name: over, final: success}]\n"
            + """
transitions:
  - {from: a, to: b, trigger: {message: Done}}
  - {from: b, to: a, trigger: {message: Ping}}
  - {from: [a, b], to: over, trigger: {message: Talk}}
"""
        )
    )
    run.start(kind=None, named={"Boss": ("boss",)})
    assert run.state == "b"


def test_the_order_of_transitions_is_their_priority() -> None:
    """§1: `transitions`: document order is priority."""
    first = running("""
states: [idle, left, right, {name: over, final: success}]
transitions:
  - {from: idle, to: right, trigger: {message: Go}}
  - {from: idle, to: left, trigger: {message: Go}}
  - {from: [left, right], to: over, trigger: {message: Done}}
""")
    assert first.state == "right"


def test_constraints_are_named_rules() -> None:
    """§1: `constraints`: list of named rules."""
    rule = "constraints: [{name: fair, expression: 1 < 2}]\n"
    assert [one.name for one in protocol(rule + ENDING).constraints] == ["fair"]
    assert codes(rule.replace("name: fair, ", "") + ENDING) == ["missing-key"]


def test_the_deadline_is_a_timer_for_the_whole_instance() -> None:
    """§1: `deadline`: a timer for the whole instance."""
    run = running("""
deadline: {after: PT1H, fail: too late}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, to: busy, trigger: {message: Done}}
  - {from: busy, to: over, trigger: {message: Talk}}
""")
    run.advance(HOUR - MINUTE)
    run.send("w1", "Done")
    assert (run.state, run.it.status) == ("busy", "running")
    run.advance(MINUTE)
    assert (run.it.status, run.it.error) == ("failure", "too late")


# -- unexpected, limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        ("", "rejected"),
        ("unexpected: reject", "rejected"),
        ("unexpected: ignore", "ignored"),
        ("unexpected: defer", "deferred"),
    ],
)
def test_what_nothing_takes_is_refused_unless_the_file_says_otherwise(policy: str, verdict: str) -> None:
    """§1: `unexpected`: what a message gets that no transition takes: `reject` (default), `ignore`, `defer`."""
    run = running(f"""
{policy}
states: [idle, busy, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, to: over, trigger: {{message: Done}}}}
""")
    assert run.send("boss", "Go", {"n": 2}).verdict == verdict


def test_there_is_no_other_policy() -> None:
    """§1: `unexpected`: `reject` (default), `ignore`, `defer`."""
    assert codes(f"unexpected: drop\n{ENDING}") == ["bad-value"]


def test_the_limits_have_defaults() -> None:
    """§1: `limits`: `steps` 10000, `state_bytes` 256 KiB, `deferred` 100, `microsteps` 100."""
    limits = protocol(ENDING).limits
    assert (limits.steps, limits.state_bytes, limits.deferred, limits.microsteps) == (
        10_000,
        256 * 1024,
        100,
        100,
    )


def test_at_most_so_many_messages_wait() -> None:
    """§1: `limits`: `deferred` 100."""
    run = running("""
unexpected: defer
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, trigger: {message: Done}}
""")
    for number in range(100):
        assert run.send("boss", "Go", {"n": number}).verdict == "deferred"
    assert run.send("boss", "Go", {"n": 100}).verdict == "failed"
    assert len(run.it.deferred) == 100


LOOPING = """
{limits}
variables: {{n: {{type: integer, initial: 0}}, most: {{type: integer, initial: 0}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - from: idle
    trigger: {{message: Ping}}
    actions: [{{set_variable: {{name: most, value: $message.payload.n}}}}]
  - from: idle
    condition: n < most
    actions: [{{set_variable: {{name: n, value: "${{ n + 1 }}"}}}}]
  - {{from: idle, to: over, trigger: {{message: Done}}}}
"""


@pytest.mark.parametrize(("limits", "most"), [("", 100), ("limits: {microsteps: 5}", 5)])
def test_a_step_has_at_most_so_many_microsteps(limits: str, most: int) -> None:
    """§1: `limits`: `microsteps` 100."""
    run = running(LOOPING.format(limits=limits))
    assert run.send("boss", "Ping", {"n": most - 1}).verdict == "taken"
    run = running(LOOPING.format(limits=limits))
    assert run.send("boss", "Ping", {"n": most}).verdict == "failed"
    assert run.variables["n"] == 0


def test_an_instance_has_at_most_so_many_steps() -> None:
    """§1: `limits`: `steps`."""
    run = running(LOOPING.format(limits="limits: {steps: 3}"))
    run.send("boss", "Ping", {"n": 0})
    assert run.it.status == "running"
    run.send("boss", "Ping", {"n": 0})
    assert run.it.status == "failure"


GROWING = """
{limits}
variables: {{text: {{type: string, initial: ""}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - from: idle
    trigger: {{message: Talk}}
    actions: [{{set_variable: {{name: text, value: $message.payload.text}}}}]
  - {{from: idle, to: over, trigger: {{message: Done}}}}
"""


@pytest.mark.parametrize(
    ("limits", "bytes_"),
    [("", 256 * 1024), ("limits: {state_bytes: 8 KiB}", 8192), ("limits: {state_bytes: 8192}", 8192)],
)
def test_an_instance_has_at_most_so_many_bytes(limits: str, bytes_: int) -> None:
    """§1: `limits`: `state_bytes` 256 KiB."""
    run = running(GROWING.format(limits=limits))
    assert run.send("w1", "Talk", {"text": "x" * (bytes_ - 3_000)}).verdict == "taken"
    assert run.send("w1", "Talk", {"text": "x" * bytes_}).verdict == "failed"
    assert len(run.variables["text"]) == bytes_ - 3_000


def test_an_expressions_budget_is_fixed() -> None:
    """§1: `limits`: (an expression's budget is fixed: 10,000 iterations in all)."""
    body = """
variables:
  numbers: {{type: list<integer>, initial: "${{ {hundred} }}"}}
  out: any
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - from: idle
    trigger: {{message: Ping}}
    actions: [{{set_variable: {{name: out, value: "${{ {expression} }}"}}}}]
  - {{from: idle, to: over, trigger: {{message: Done}}}}
"""
    hundred = str([1] * 99)
    within = running(body.format(hundred=hundred, expression="numbers.all(a, numbers.all(b, b > 0))"))
    assert within.send("boss", "Ping", {}).verdict == "taken"
    beyond = running(
        body.format(hundred=hundred, expression="numbers.all(a, numbers.all(b, numbers.all(c, c > 0)))")
    )
    made = beyond.send("boss", "Ping", {})
    assert made.verdict == "failed"
    assert "10,000" in str(made.error) or "10000" in str(made.error)


def test_the_budget_is_no_limit_of_the_file() -> None:
    """§1: `limits`: (an expression's budget is fixed)."""
    assert codes(f"limits: {{iterations: 5}}\n{ENDING}") == ["unknown-key"]


# -- YAML -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "Yes", "NO", "y", "n"])
def test_these_words_are_text(word: str) -> None:
    """§1: YAML 1.2, core schema (`yes`, `no`, `on`, `off` are text)."""
    run = running(f"variables: {{v: {{type: any, initial: {word}}}}}\n{ENDING}")
    assert run.variables["v"] == word


@pytest.mark.parametrize(
    ("written", "value"),
    [("true", True), ("False", False), ("0x10", 16), ("0o17", 15), ("017", 17), ("1e3", 1000.0), ("~", None),
     ("2030-01-01", "2030-01-01"), ("1_000", "1_000"), ("12:30", "12:30")],
)  # fmt: skip
def test_values_are_those_of_the_core_schema(written: str, value: object) -> None:
    """§1: YAML 1.2, core schema."""
    run = running(f"variables: {{v: {{type: any, initial: {written}}}}}\n{ENDING}")
    assert run.variables["v"] == value
    assert isinstance(run.variables["v"], bool) is isinstance(value, bool)


@pytest.mark.parametrize("written", ["Worker[all]", "a{b}c", "a,b"])
def test_brackets_and_commas_are_quoted_inside_flow_collections(written: str) -> None:
    """§1: inside `[ ]` and `{ }`, text holding `[ ] { } ,` is quoted."""
    body = "types: {{E: {{a: any}}}}\nvariables: {{v: {{type: any, initial: {}}}}}\n" + ENDING.replace(
        "{", "{{"
    ).replace("}", "}}")
    assert running(body.format(f'"{written}"')).variables["v"] == written
    assert errors_of(body.format(written)) != []


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("!!python/object/apply:os.system [true]", "yaml-tag"),
        ("!!python/name:os.system x", "yaml-tag"),
        ("!thing {a: 1}", "yaml-tag"),
        ("{a: 1, a: 2}", "duplicate-key"),
        ("*nowhere", "yaml-alias"),
        ("&self [*self]", "yaml-alias"),
        ("[" * 200 + "]" * 200, "yaml-limit"),
    ],
)
def test_the_text_is_read_safely(written: str, code: str) -> None:
    """§1: it is read safely: no object construction, duplicate keys refused, ... depth ... bounded."""
    assert code in codes(f"variables: {{v: {{type: any, initial: {written}}}}}\n{ENDING}")


def test_the_expansion_of_aliases_is_bounded() -> None:
    """§1: it is read safely: alias expansion ... bounded."""
    layers = "\n".join(
        f"  v{number}: {{type: any, initial: &l{number} [{', '.join([f'*l{number - 1}'] * 10)}]}}"
        for number in range(1, 10)
    )
    body = (
        f"variables:\n  v0: {{type: any, initial: &l0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}\n{layers}\n{ENDING}"
    )
    assert "yaml-limit" in codes(body)


def test_the_size_of_a_file_is_bounded() -> None:
    """§1: it is read safely: ... size bounded."""
    assert "yaml-limit" in codes(f"description: {'x' * 20_000_000}\n{ENDING}")


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (f"colour: red\n{ENDING}", "unknown-key"),
        (ENDING.replace("{name: over, ", "{nmae: over, "), "unknown-key"),
        (ENDING.replace("{name: over, ", "{"), "missing-key"),
        (ENDING.replace("idle, {name: over", "idle, idle, {name: over"), "duplicate-name"),
        (ENDING.replace("states: [idle, {name: over, final: success}]", "states: 5"), "wrong-type"),
        (ENDING.replace("trigger: {message: Go}", "trigger: {message: Go}, condition: 1 +"), "expression-syntax"),
        (ENDING.replace("trigger: {message: Go}", "trigger: {message: Go}, condition: nobody > 1"), "unknown-name"),
        (ENDING.replace("trigger: {message: Go}", "trigger: {message: Go}, condition: 1 + 1"), "expression-type"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_an_error(body: str, code: str) -> None:
    """§1: unknown keys, missing or duplicate names, wrong types and bad expressions are errors."""
    assert code in codes(body)


BROKEN = """
variables:
  count: {type: integer, initial: 0}
  other: strng
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, to: ovr, trigger: {message: Goo}}
  - {from: idle, to: over, trigger: {message: Go}, condition: cuont > 1}
  - {from: idle, to: over, trigger: {message: Ping}, actions: [{sed: {message: Note}}], colour: red}
"""


def test_all_errors_of_a_file_are_told_in_one_go() -> None:
    """§1: **All** errors of a file are reported in one go."""
    assert sorted(codes(BROKEN)) == [
        "unknown-action",
        "unknown-key",
        "unknown-message",
        "unknown-name",
        "unknown-state",
        "unknown-type",
    ]


def test_every_error_has_its_place_and_its_text() -> None:
    """§1: each with `file:line:column`, a code, the offending text."""
    source = (HEAD + BROKEN).split("\n")
    for one in errors_of(BROKEN):
        span = one.span
        assert span.file == "sample.yaml"
        offending = source[span.line - 1][span.column - 1 : span.column - 1 + span.length]
        assert offending in ("strng", "ovr", "Goo", "cuont", "sed", "colour")
        assert offending in one.message


def test_every_error_says_what_was_expected() -> None:
    """§1: each with ... what was expected."""
    expected = {one.code: str(one.expected) for one in errors_of(BROKEN)}
    assert "`string`" in expected["unknown-type"]
    assert "`over`" in expected["unknown-state"]
    assert "`Go`" in expected["unknown-message"]
    assert "`count`" in expected["unknown-name"]
    assert "`send`" in expected["unknown-action"]
    assert "`trigger`" in expected["unknown-key"]


@pytest.mark.parametrize(
    ("expression", "known"),
    [
        ("message.payload.m > 1", "`n`"),
        ("roles.Wrker.size() > 1", "`Worker`"),
        ("siz([1]) > 1", "function"),
        ("1 +", "CEL"),
    ],
)
def test_an_expression_says_what_was_expected_too(expression: str, known: str) -> None:
    """§1: each with ... what was expected."""
    body = ENDING.replace("trigger: {message: Go}", f"trigger: {{message: Go}}, condition: '{expression}'")
    (found,) = errors_of(body)
    assert known in str(found.expected)


def test_a_near_name_is_suggested() -> None:
    """§1: and "did you mean …" where a known name is near."""
    hints = {one.code: str(one.hint) for one in errors_of(BROKEN)}
    for code, near in {
        "unknown-type": "string",
        "unknown-state": "over",
        "unknown-message": "Go",
        "unknown-name": "count",
        "unknown-action": "send",
    }.items():
        assert hints[code] == f"did you mean `{near}`?"
    assert hints["unknown-key"] == "None"
