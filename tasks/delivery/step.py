"""One delivery: recorded, made, recorded. What may have been sent is never sent again unasked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from deskwork.tasks import faults
from deskwork.tasks.delivery import copies, mail, messages
from deskwork.tasks.delivery.parcel import NotReached, Parcel, Refused, Unknown
from deskwork.tasks.delivery.record import draft_of, statuses
from deskwork.tasks.delivery.targets import REPEATABLE, Chat, Folder, Mail, Store, Target
from deskwork.tasks.secrets import NoSecret, SecretAway, reveal
from deskwork.tasks.session import Session
from deskwork.tasks.states import WaitingForPerson
from deskwork.tools.errors import DeskworkError
from deskwork.tools.masking import masked


class Delivery:
    """A delivery to be made, ``place`` counting from 1; ``refused`` are the addresses that said no.

    A plain object: Prefect would walk through the fields of a dataclass, the whole report's.
    """

    def __init__(self, place: int, target: Target, parcel: Parcel) -> None:
        self.place = place
        self.target = target
        self.parcel = parcel
        self.refused: list[str] = []


async def deliver(session: Session, delivery: Delivery) -> None:
    """Make the delivery unless it is made.

    Raises `NotReached` or `Refused` where it was surely not sent, `WaitingForPerson` where that
    isn't known.
    """
    place, target = delivery.place, delivery.target
    what, repeatable = str(target), target.kind in REPEATABLE
    told = await asyncio.to_thread(statuses, session.writer.journal, session.job)
    known = told.get(place, {})
    if known.get("status") in ("delivered", "sent"):
        delivery.refused = list(known.get("refused", []))
        return
    if known.get("status") == "started" and not repeatable:
        raise _unknown(session.job, what, "it began, and its end was not recorded")
    secret = await _secret(target, session.settings.home)
    await session.append([draft_of(place, "started", what, repeatable=repeatable)])
    faults.point("delivering")
    try:
        delivery.refused = await _sent(target, delivery.parcel, secret)
    except (NotReached, Refused) as error:
        await session.append([draft_of(place, "failed", what, reason=error.message)])
        raise
    except Unknown as error:
        raise _unknown(session.job, what, error.message) from None
    faults.point("delivered")
    more = {"refused": delivery.refused} if delivery.refused else {}
    await session.append([draft_of(place, "delivered", what, **more)])


def _unknown(job: str, what: str, why: str) -> WaitingForPerson:
    return WaitingForPerson(
        f"It isn't known whether the {what} went: {why.rstrip('.')}.",
        f"Look, then: `deskwork answer {job} --run-again` sends it again, "
        f"`deskwork answer {job} --sent` counts it as sent; `deskwork resume {job}` goes on.",
    )


async def _secret(target: Target, home: Path) -> str:
    named = target.password if isinstance(target, Mail) else None
    if isinstance(target, Chat):
        named = target.url
    elif not isinstance(target, Mail | Folder | Store):
        named = target.token
    try:
        return await reveal(named, home) if named else ""
    except SecretAway as error:
        raise NotReached(error.message, error.hint) from None
    except NoSecret as error:
        raise Refused(error.message, error.hint) from None


async def _sent(target: Target, parcel: Parcel, secret: str) -> list[str]:
    """As `_send`; what a server said doesn't hold the secret, whatever the server echoes."""
    try:
        refused = await _send(target, parcel, secret)
    except DeskworkError as error:
        error.message = masked(error.message, secret, "the secret")
        error.hint = masked(error.hint, secret, "the secret")
        raise
    return [masked(line, secret, "the secret") for line in refused]


async def _send(target: Target, parcel: Parcel, secret: str) -> list[str]:
    if isinstance(target, Mail):
        return await asyncio.to_thread(mail.send_mail, target, parcel, secret)
    if isinstance(target, Chat):
        await messages.say(secret, parcel)
    elif isinstance(target, Folder):
        await asyncio.to_thread(copies.copy_to_folder, target, parcel)
    elif isinstance(target, Store):
        await asyncio.to_thread(copies.copy_to_store, target, parcel)
    else:
        await messages.post(target, parcel, secret)
    return []
