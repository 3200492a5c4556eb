"""One question to an endpoint on loopback: what came of it, and after which waits."""

from __future__ import annotations

from typing import Any

from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.model_errors import Rejected, Unavailable
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.retries import RetryPolicy
from tests.wire.conformance import Stage, staged

BODY = b'{"messages":[]}'
PROFILES = {
    "anthropic": "anthropic",
    "llamacpp-chat": "llamacpp",
    "openai-chat": "openai",
    "vllm-chat": "vllm",
    "sglang-chat": "sglang",
    "openrouter-chat": "openrouter",
    "moonshot-chat": "moonshot",
    "any": "gateway",
}


class Asked:
    """What came of asking an endpoint: a text or an error, the waits, the troubles told."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.error: Exception | None = None
        self.waits: list[float] = []
        self.troubles: list[Unavailable] = []


async def asked(
    url: str, profile: str, body: bytes = BODY, *, retries: RetryPolicy | None = None
) -> Asked:
    """Ask once; waits are noted and take no time."""
    found = Asked()

    async def sleep(seconds: float) -> None:
        found.waits.append(seconds)

    spoken = find_profile(profile, "chat" if profile == "openai" else None, None)
    codec = open_codec(spoken)
    endpoint = Endpoint(url, codec, sleep=sleep, retries=retries or RetryPolicy())
    try:
        found.text = (
            await endpoint.ask([body], lambda error, _: found.troubles.append(error))
        ).text
    except (Unavailable, Rejected) as error:
        found.error = error
    await endpoint.close()
    return found


async def once(given_case: dict[str, Any]) -> tuple[Asked, Stage]:
    """Ask a server that answers with the case's response, then well."""
    with staged(given_case["given"]["response"]) as (url, stage):
        return await asked(url, PROFILES[given_case["protocol"]]), stage
