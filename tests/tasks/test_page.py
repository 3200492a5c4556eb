"""The Prefect page is for the eye: whatever becomes of its server, a job comes to its end."""

from __future__ import annotations

import contextlib

from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from deskwork.tasks.page import Page
from tests.tools.web.server import Reply, site

RUN = "0b7c2c4e-0000-4000-8000-000000000000"


async def test_a_server_that_is_away_or_fails_costs_a_job_nothing() -> None:
    with contextlib.ExitStack() as stack:
        broken = stack.enter_context(site({"/api/flow_runs/filter": Reply(b"no", 500)}))
        for url in ("http://127.0.0.1:9/api", broken.url("/api")):
            settings = {PREFECT_API_URL: url, PREFECT_CLIENT_MAX_RETRIES: 0}
            with temporary_settings(settings):
                page = Page(RUN, "job")
                await page.name("name", ["tag"])
                await page.show("answer", "markdown", "text", "What came of it")
                async with page.following(lambda: ("text", None)):
                    pass
        assert broken.asked


async def test_without_a_run_nothing_is_asked() -> None:
    page = Page(None, "job")
    await page.name("name", [])
    await page.show("answer", "markdown", "text", "What came of it")
    async with page.following(lambda: ("text", None)):
        pass
