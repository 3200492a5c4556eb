"""EDGAR by plain HTTP: paced for the whole machine, refusals told apart, answers kept.

The SEC takes ten requests a second from one party over all its machines, wants to know who asks,
and blocks for ten minutes whoever asks more (https://www.sec.gov/os/accessing-edgar-data). Its
robots.txt isn't asked: these addresses are its interface for programs.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import httpx

from deskwork.tools.errors import ToolError, WebError
from deskwork.tools.sources import Source
from deskwork.tools.web.access import Web, name_of
from deskwork.tools.web.blocked import check_answer
from deskwork.tools.web.client import Answer
from deskwork.tools.web.pace import SEC, SEC_REST

PER_SECOND = 10.0
FOREVER = math.inf
"""A filing never changes: what was fetched once is the filing."""
HOUR, DAY = 3_600.0, 86_400.0
_LATER = "Go on with other sources meanwhile."


class Edgar:
    """The SEC's servers as the settings of the web name them."""

    def __init__(self, web: Web) -> None:
        self._web = web
        options = web.options
        self.www = options.sec_www.rstrip("/")
        self.data = options.sec_data.rstrip("/")
        self.full_text = options.sec_search.rstrip("/")

    async def get(self, url: str, max_age: float, missing: str = "") -> Source:
        """What stands under an address of EDGAR: a snapshot, or fetched now.

        ``max_age`` is in seconds; ``missing`` is the sentence for what isn't there. Raises
        `ToolError` without a contact, and `WebError`: "not found", "throttled", "forbidden",
        "unreachable" and the other failures of a fetch.
        """
        agent = self._agent()
        if max_age != FOREVER:
            max_age = min(max_age, self._web.options.max_age)
        if kept := await asyncio.to_thread(self._web.snapshots.get, url, max_age):
            return kept
        try:
            answer = await self._web.client_as(agent).get(url, self._before)
        except WebError as error:
            if error.kind != "unreachable":
                raise
            raise WebError(
                "unreachable",
                f"EDGAR can't be reached from this machine: {error.message.partition(': ')[2]}",
                "Check the network. Facts can be read without one from a companyfacts file.",
            ) from None
        await self._check(answer, missing)
        return await asyncio.to_thread(
            self._web.snapshots.put,
            answer.body,
            name=name_of(answer.final_url),
            url=url,
            final_url=answer.final_url,
            media_type=answer.media_type,
        )

    async def json(self, url: str, max_age: float, missing: str = "") -> dict[str, Any]:
        """The JSON object under an address. Raises as `get` does, and "unreadable"."""
        source = await self.get(url, max_age, missing)
        try:
            value = json.loads(source.data)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise WebError("unreadable", f"{url} holds no JSON object.", _LATER)
        return value

    def _agent(self) -> str:
        """The User-Agent in the form that the SEC prescribes, "Name email"."""
        contact = self._web.options.contact.strip()
        if not self._web.options.names_someone:
            what = f"{contact!r} is not of that form" if contact else "none is set"
            raise ToolError(
                "The SEC answers only programs that say who runs them, by name and mail address; "
                f"{what}.",
                'Set contact = "Ann Example ann@example.com" in the table [web] of deskwork.toml, '
                "or the variable DESKWORK_CONTACT.",
            )
        return contact

    async def _before(self, at: httpx.URL) -> None:
        try:
            await self._web.pace.wait(SEC, PER_SECOND)
        except WebError as error:
            raise WebError(
                "throttled",
                "This machine asked the SEC too often, so that it is not asked again for "
                f"{error.retry_after or SEC_REST:.0f} seconds.",
                _LATER,
                retry_after=error.retry_after,
            ) from None

    async def _check(self, answer: Answer, missing: str) -> None:
        """Raise for an answer that is no document: a 403 of the SEC has three meanings."""
        body = answer.body[:100_000].decode("utf-8", "replace").casefold()
        refused = answer.status in (403, 429)
        if answer.status == 429 or (refused and "request rate threshold exceeded" in body):
            await self._web.pace.rest(SEC, SEC_REST)
            raise WebError(
                "throttled",
                "The SEC says that this machine asked too often. Nothing is asked of it for 10 "
                "minutes now, since asking on would make them more.",
                _LATER,
                retry_after=SEC_REST,
            )
        if refused and "undeclared automated tool" in body:
            raise WebError(
                "forbidden",
                "The SEC does not accept how this program names itself "
                f"({self._web.options.contact!r}).",
                "`contact` in the table [web] of deskwork.toml must be a real name and mail "
                "address, as in Ann Example ann@example.com.",
            )
        gone = answer.status == 403 and "<code>accessdenied</code>" in body
        if gone or answer.status == 404:
            raise WebError("not found", missing or f"There is no file {answer.url} (yet).")
        check_answer(answer.status, answer.final_url, answer.headers, answer.body)
