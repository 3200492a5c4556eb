"""A report by webhook, and a message of it in a chat."""

from __future__ import annotations

import logging

import httpx

from deskwork.tasks.delivery.parcel import NotReached, Parcel, Refused, Unknown
from deskwork.tasks.delivery.targets import Webhook

SECONDS = 60.0
_LATER = (408, 425, 429, 502, 503, 504)
CHAT_CHARACTERS = 3_000
"""A message of a chat is cut behind so many."""


async def post(target: Webhook, parcel: Parcel, token: str) -> None:
    """POST the report as JSON, with a key by which a receiver knows one that comes twice.

    Raises `NotReached`, `Refused`, or `Unknown` when no answer came.
    """
    headers = {"Idempotency-Key": parcel.key}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    body = {"job": parcel.job, "title": parcel.title, "text": parcel.text, "report": parcel.data}
    try:
        async with httpx.AsyncClient(timeout=SECONDS) as client:
            answer = await client.post(str(target.url), json=body, headers=headers)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        raise NotReached(f"{target.url} can't be reached: {error}.") from None
    except httpx.HTTPError as error:
        raise Unknown(f"{target.url} gave no answer: {error or type(error).__name__}.") from None
    if answer.is_success:
        return
    said = " ".join(answer.text[:200].split())
    told = f"{target.url} answered {answer.status_code}" + (f": {said}" if said else "")
    if answer.status_code in _LATER:
        raise NotReached(f"{told}.")
    raise Refused(f"{told}.", "Check its `url` and `token`.")


async def say(url: str, parcel: Parcel) -> None:
    """Send a message by Apprise. Raises `Refused`, or `Unknown` when the connection was lost."""
    import apprise

    chat = apprise.Apprise()
    if not chat.add(url):
        raise Refused(
            "The chat's address is none that Apprise knows.",
            "Check the secret that `url` names; it looks like slack://TokenA/TokenB/TokenC.",
        )
    heard = _Heard()
    logger = logging.getLogger("apprise")
    logger.addHandler(heard)
    try:
        sent = await chat.async_notify(body=parcel.text[:CHAT_CHARACTERS], title=parcel.title)
    finally:
        logger.removeHandler(heard)
    if sent:
        return
    # Apprise says only that it failed; its log tells an answer from a connection that was lost.
    if any("onnection" in line for line in heard.lines):
        raise Unknown("The chat's service gave no answer.")
    raise Refused("The chat's service refused the message.", "Check the address of the chat.")


class _Heard(logging.Handler):
    """What a logger says while it is listened to."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
