"""The wire cases on tool calls: which are run, with which arguments and ids, in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deskwork.tasks.profiles import find_profile
from tests.jobs import answer, opened
from tests.wire.conformance import case, named, ran, staged


@case("oai-finish-stop-with-calls")
async def test_calls_are_run_whatever_the_finish_reason_says(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    tool = named("f")
    with staged(given_case["given"]["response"]) as (url, stage):
        profile = find_profile("openai", "chat", None)
        async with opened(tmp_path, None, url=url, profile=profile, tools=[tool]) as session:
            assert await answer(session) == "Done."
    assert ran(tool) == [{}]
    assert [message["role"] for message in stage.requests[1]["messages"]][2:] == [
        "assistant",
        "tool",
    ]
