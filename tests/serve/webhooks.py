"""A sender of webhooks as GitHub's: signed, several at once, and again where no answer came."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.tools.support import wait_until

SENDERS = 4


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def signed(secret: str, body: bytes, delivery: str, event: str = "push") -> dict[str, str]:
    """The headers of a delivery."""
    signature = hmac.digest(secret.encode(), body, hashlib.sha256).hex()
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={signature}",
    }


def send_all(
    url: str, secret: str, deliveries: Iterable[str], on_answer: Callable[[int], None] = lambda _count: None
) -> dict[str, set[str]]:
    """Send each of the deliveries until it is accepted; the turns that were answered for each id.

    `on_answer` is called with how many answers there were.
    """
    turns: dict[str, set[str]] = {}
    answers = 0

    def send(delivery: str) -> None:
        nonlocal answers
        body = json.dumps({"delivery": delivery, "commits": [{"message": "x" * 200}]}).encode()
        answer: list[Any] = []

        def is_accepted() -> bool:
            try:
                response = client.post(url, content=body, headers=signed(secret, body, delivery))
            except httpx.TransportError:
                return False  # it is down, or went down with the request
            assert response.status_code == 202, response.text
            answer.append(response.json())
            return True

        wait_until(is_accepted, f"an answer to {delivery}")
        turns.setdefault(delivery, set()).add(answer[0]["turn"])
        answers += 1
        on_answer(answers)

    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, deliveries))
    return turns
