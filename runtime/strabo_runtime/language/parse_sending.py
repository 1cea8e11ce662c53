"""Parses `send` and `broadcast`: what is sent, and who gets it."""

from __future__ import annotations

import re

from strabo_runtime.engine.machine import Reach
from strabo_runtime.language.action_syntax import RecipientsSyntax, SendSyntax
from strabo_runtime.language.nodes import Fragment, Name, Node, ScalarNode
from strabo_runtime.language.shape import Fields, Shape

_EXPRESSION = r"\$\{.*\}|\$[A-Za-z_][A-Za-z0-9_.]*"
_AGENTS = re.compile(rf"\s*(?:{_EXPRESSION})\s*", re.DOTALL)
_RECIPIENTS = re.compile(
    rf"\s*(?P<role>[^\s\[\]$]+)(?:\[(?P<reach>[^\]]*)\])?(?:\s+except\s+(?P<except>{_EXPRESSION}))?\s*",
    re.DOTALL,
)
_RECIPIENT_FORMS = "`Role`, `Role[all]`, `Role[any]`, `Role[all] except ${ id }` or `${ id or list of ids }`"
_BROADCAST_FORMS = "`Role`, `Role[all]` or `Role[all] except ${ id }`"


def is_expression(text: str) -> bool:
    """Whether a whole text is one `${ }`, or short for one."""
    return _AGENTS.fullmatch(text) is not None


class SendingParser:
    """Reads sends; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._reporter = shape.reporter

    def send(self, fields: Fields, *, broadcast: bool = False) -> SendSyntax | None:
        """The fields of `send` or `broadcast`."""
        message = self._shape.reference(fields.get("message"), "`message`")
        found = [
            self._recipients(item, broadcast=broadcast)
            for item in self._shape.one_or_many(fields.get("to"), "`to`")
        ]
        if message is None or None in found:
            return None
        to = tuple(recipients for recipients in found if recipients is not None)
        return SendSyntax(message, fields.get("payload"), to, broadcast, message.span)

    def _recipients(self, node: Node, *, broadcast: bool) -> RecipientsSyntax | None:
        text = self._shape.text(node, "a recipient")
        if text is None or not isinstance(node, ScalarNode):
            return None
        if is_expression(text) and not broadcast:
            return RecipientsSyntax(None, "one", node, None, node.span)
        match = _RECIPIENTS.fullmatch(text)
        reach: Reach | None = None
        if match is not None:
            written = match["reach"]
            if written is None:
                reach = "all" if broadcast else "one"
            elif written == "all" or (written == "any" and not broadcast):
                reach = "all" if written == "all" else "any"
        if match is None or reach is None or (match["except"] is not None and reach != "all"):
            self._reporter.error(
                "bad-value",
                node.span,
                f"`{text}` does not say who gets the message",
                expected=_BROADCAST_FORMS if broadcast else _RECIPIENT_FORMS,
            )
            return None
        role = Name(match["role"], node.span_at(match.start("role"), len(match["role"])))
        left_out = match["except"]
        except_ = None if left_out is None else Fragment(node, match.start("except"), left_out)
        return RecipientsSyntax(role, reach, None, except_, node.span)
