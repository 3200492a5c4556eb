"""The web as tools reach it: a search and a fetch, each spaced, bounded and kept as a snapshot."""

from __future__ import annotations

import asyncio
import re
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

import httpcore
import httpx

from deskwork.tools.errors import WebError
from deskwork.tools.sources import Source
from deskwork.tools.web.addresses import Allowed, Guard, Resolver, system_resolver
from deskwork.tools.web.blocked import check_answer
from deskwork.tools.web.client import Bounds, Client
from deskwork.tools.web.options import WebOptions
from deskwork.tools.web.pace import SEC, SEC_REST, Pace, pace_name
from deskwork.tools.web.robots import MAX_BYTES as ROBOTS_BYTES
from deskwork.tools.web.robots import may_fetch
from deskwork.tools.web.search import Engine, Result, Search
from deskwork.tools.web.search_engines import open_engine
from deskwork.tools.web.snapshots import SnapshotStore

_ROBOTS_AGE = 86_400.0
_REST = 30.0
"""Seconds for which a host that throttles is left alone where it names no wait."""
_NAME_LENGTH = 120


class Web:
    """Search and fetch with one set of options; snapshots and pace lie in the home.

    Nothing is opened before it is used. ``resolver``, ``engine`` and ``network`` stand in for the
    network.
    """

    def __init__(
        self,
        options: WebOptions,
        home: Path,
        *,
        resolver: Resolver = system_resolver,
        engine: Engine | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self.options = options
        self._resolver = resolver
        self._engine = engine
        self._network = network
        self.snapshots = SnapshotStore(home / "snapshots")
        self.pace = Pace(home / "pace")

    @cached_property
    def client(self) -> Client:
        """The client under these options. Raises `WrongUse` for an `allow` that can't be read."""
        return self.client_as("")

    def client_as(self, agent: str) -> Client:
        """The same client with a User-Agent of its own, for a service that prescribes its form."""
        guard = Guard(Allowed.read(self.options.allow), self._resolver)
        bounds = Bounds(self.options.max_bytes, self.options.seconds)
        contact = self.options.contact
        return Client(guard, bounds=bounds, contact=contact, agent=agent, network=self._network)

    async def search(self, query: str, top: int) -> list[Result]:
        """Results for a query, best first, never none. Raises `WebError`."""
        engine = self._engine or open_engine(self.options)
        return await Search(engine, self.options, self.pace, self.snapshots)(query, top)

    async def fetch(self, url: str) -> Source:
        """What stands under an address, with its bytes: a snapshot young enough, or fetched now.

        Raises `WebError` for whatever is no document.
        """
        key = url.strip().partition("#")[0]
        at = self.client.check(key)
        if kept := await self._kept(key, self.options.max_age):
            # What was allowed when it was fetched may not be any more.
            self.client.check(kept.final_url)
            return kept
        async with self.pace.turn(at.host):
            # Another process may have fetched it while this one waited.
            if kept := await self._kept(key, self.options.max_age):
                return kept
            try:
                answer = await self.client.get(key, self._before)
                check_answer(answer.status, answer.final_url, answer.headers, answer.body)
            except WebError as error:
                if error.kind == "throttled":
                    name = pace_name(at.host)
                    usual = SEC_REST if name == SEC else _REST
                    await self.pace.rest(name, error.retry_after or usual)
                raise
            # Still within the turn: whoever has it next must find the snapshot.
            return await asyncio.to_thread(
                self.snapshots.put,
                answer.body,
                name=name_of(answer.final_url),
                url=key,
                final_url=answer.final_url,
                media_type=answer.media_type,
            )

    async def _kept(self, url: str, max_age: float) -> Source | None:
        return await asyncio.to_thread(self.snapshots.get, url, max_age)

    async def _before(self, at: httpx.URL) -> None:
        """What is due before each hop: the host's rules, then its pace."""
        if not may_fetch(await self._robots(at), at.raw_path.decode("ascii", "replace")):
            raise WebError(
                "robots.txt",
                f"{at} is not fetched: the site's robots.txt forbids it to programs.",
                "Try another source.",
            )
        await self.pace.wait(pace_name(at.host), self.options.per_second)

    async def _robots(self, at: httpx.URL) -> str:
        """The rules of a site, kept for a day. A file that isn't there allows everything; a site
        that can't say allows nothing (RFC 9309, 2.3.1).
        """
        address = str(at.copy_with(raw_path=b"/robots.txt", fragment=None))
        kept = await self._kept(address, _ROBOTS_AGE)
        if kept is None:
            await self.pace.wait(pace_name(at.host), self.options.per_second)
            bounds = Bounds(ROBOTS_BYTES, min(20.0, self.options.seconds))
            answer = await self.client.get(address, bounds=bounds)
            if answer.status >= 500 or answer.status == 429:
                raise WebError(
                    "throttled" if answer.status in (429, 503) else "server error",
                    f"{address} answered HTTP {answer.status}, so what may be fetched is unknown.",
                    "Try again later, or another source.",
                )
            kept = await asyncio.to_thread(
                self.snapshots.put,
                answer.body if answer.status < 300 else b"",
                name="robots.txt",
                url=address,
                final_url=answer.final_url,
                media_type=answer.media_type,
            )
        return kept.data.decode("utf-8", "replace")


def name_of(url: str) -> str:
    """A document's name from its address: host and path, with the query where there is one."""
    at = httpx.URL(url)
    path = unquote(at.path).strip("/")
    query = unquote(at.query.decode("ascii", "replace"))
    name = f"{at.host.removeprefix('www.')}/{path}" if path else at.host.removeprefix("www.")
    if query:
        name += f"?{query}"
    name = re.sub(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+", "_", name)
    if len(name) > _NAME_LENGTH:
        name = name[: _NAME_LENGTH // 2] + "…" + name[-_NAME_LENGTH // 2 :]
    return name
