"""Searching the web: one result shape, whatever the engine, and failures that say what they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol
from urllib.parse import urlencode

from deskwork.tools.errors import WebError
from deskwork.tools.web.options import WebOptions
from deskwork.tools.web.pace import Pace
from deskwork.tools.web.snapshots import SnapshotStore

AT_MOST = 20


@dataclass(frozen=True)
class Result:
    """One result. ``rank`` counts from 1; ``snippet`` is the engine's text, no quote of a page."""

    title: str
    url: str
    snippet: str
    engine: str
    rank: int


class Engine(Protocol):
    """A way to search. ``host`` is the name under which its requests are spaced."""

    name: str
    host: str

    async def search(self, query: str, top: int) -> list[Result]:
        """The results, best first. Raises `WebError`; for no results "nothing found"."""


class Search:
    """Searches through one engine, at its pace, and keeps the results for a while."""

    def __init__(
        self, engine: Engine, options: WebOptions, pace: Pace, snapshots: SnapshotStore
    ) -> None:
        self._engine = engine
        self._options = options
        self._pace = pace
        self._snapshots = snapshots

    async def __call__(self, query: str, top: int) -> list[Result]:
        """The results for a query, 1 to ``top`` of them. Raises `WebError`, never gives none."""
        engine = self._engine
        key = f"search:{engine.name}?{urlencode({'q': query, 'top': top})}"
        if kept := await asyncio.to_thread(self._snapshots.get, key, self._options.max_age):
            return [Result(**row) for row in json.loads(kept.data)]
        async with self._pace.turn(engine.host):
            await self._pace.wait(engine.host, self._options.per_second)
            try:
                results = distinct(await engine.search(query, top))[:top]
            except WebError as error:
                if error.kind == "throttled":
                    await self._pace.rest(engine.host, error.retry_after or 30.0)
                raise
        if not results:
            raise nothing_found(engine.name, query)
        await asyncio.to_thread(
            self._snapshots.put,
            json.dumps([asdict(result) for result in results], ensure_ascii=False).encode(),
            name=key,
            url=key,
            final_url=key,
            media_type="application/json",
        )
        return results


def nothing_found(engine: str, query: str, more: str = "") -> WebError:
    """The error for a search that worked and found nothing."""
    return WebError(
        "nothing found",
        f"{engine} answered, and has no result for {query!r}{more}.",
        "Try fewer or other words.",
    )


def distinct(results: Sequence[Result]) -> list[Result]:
    """The results with each address once, ranked anew; what is no web address is left out."""
    seen = dict[str, Result]()
    for result in results:
        if result.url.startswith(("http://", "https://")):
            seen.setdefault(result.url.rstrip("/"), result)
    return [
        Result(r.title, r.url, r.snippet, r.engine, rank) for rank, r in enumerate(seen.values(), 1)
    ]
