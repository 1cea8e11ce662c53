"""The UCP checkout: a platform that fills in what is missing and completes, and a shop that prices and sells.

The message types are in snake case, so handlers take dicts here: `@role.on("create_checkout")`.
"""

from __future__ import annotations

from typing import Any

import structlog

from strabo_agents import Agent, Conversation, Message

PROTOCOL = "UcpCheckout"
PRICES = {"shirt": 2500, "coat": 45000}
REVIEWED_ABOVE = 50000
"""Minor units (cents), as everywhere in UCP: a dearer order is reviewed by the buyer in the shop's own pages."""

log = structlog.get_logger(__name__)

platform = Agent()
platform_role = platform.role(PROTOCOL, "Platform")


@platform_role.on("checkout")
async def proceed(checkout: dict[str, Any], conversation: Conversation) -> Message | None:
    """Do what the status asks for. On `requires_escalation` it is the buyer's turn, at `continue_url`."""
    match checkout["status"]:
        case "incomplete":
            lines = [
                {key: line[key] for key in ("id", "item", "quantity")} for line in checkout["line_items"]
            ]
            return Message("update_checkout", {"line_items": lines, "buyer": {"email": "jane@example.com"}})
        case "ready_for_complete":
            return Message(
                "complete_checkout", {"payment": {"instruments": [{"id": "card-1", "type": "card"}]}}
            )
        case "completed":
            log.info("ordered", order=checkout["order"]["id"])
    return None


business = Agent()
business_role = business.role(PROTOCOL, "Business")
_checkouts: dict[str, dict[str, Any]] = {}
"""The shop's own record of its sessions; a real one has a database."""


@business_role.on("create_checkout")
@business_role.on("update_checkout")
async def price(request: dict[str, Any], conversation: Conversation) -> Message:
    """Price what is wanted, and say what is missing."""
    checkout = _priced(request, conversation.instance_id)
    _checkouts[conversation.instance_id] = checkout
    return Message("checkout", checkout)


@business_role.on("complete_checkout")
async def place_order(request: dict[str, Any], conversation: Conversation) -> Message:
    """Take the payment and place the order."""
    checkout = _checkouts[conversation.instance_id]
    order = f"order-{checkout['id']}"
    url = f"https://shop.example.com/orders/{order}"
    return Message(
        "checkout", {**checkout, "status": "completed", "order": {"id": order, "permalink_url": url}}
    )


def _priced(request: dict[str, Any], session: str) -> dict[str, Any]:
    lines = [
        {
            "id": f"line-{number}",
            "item": line["item"],
            "quantity": line["quantity"],
            "totals": [{"type": "total", "amount": PRICES[line["item"]["id"]] * line["quantity"]}],
        }
        for number, line in enumerate(request["line_items"], 1)
    ]
    total = sum(line["totals"][0]["amount"] for line in lines)
    checkout = {
        "id": f"chk-{session}",
        "currency": "USD",
        "line_items": lines,
        "totals": [{"type": "total", "amount": total}],
        "links": [{"type": "terms_of_service", "url": "https://shop.example.com/terms"}],
        "continue_url": f"https://shop.example.com/checkout-sessions/{session}",
        "buyer": request.get("buyer", {}),
    }
    if total > REVIEWED_ABOVE:
        return {**checkout, "status": "requires_escalation", "messages": [_REVIEW]}
    if "email" not in checkout["buyer"]:
        return {**checkout, "status": "incomplete", "messages": [_NO_EMAIL]}
    return {**checkout, "status": "ready_for_complete"}


_NO_EMAIL = {
    "type": "error",
    "code": "missing",
    "path": "$.buyer.email",
    "content": "an email is required",
    "severity": "recoverable",
}
_REVIEW = {
    "type": "error",
    "code": "high_value_order",
    "content": "please review the order",
    "severity": "requires_buyer_review",
}
