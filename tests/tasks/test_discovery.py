"""What endpoints say of their models, in each server's own form, over loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from deskwork.tasks.discovery import discover
from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.settings import ModelLimits


def capabilities(*, adaptive: bool, levels: tuple[str, ...] = ("low", "high", "max")) -> Any:
    def yes(value: bool) -> dict[str, bool]:
        return {"supported": value}

    effort = {name: yes(name in levels) for name in ("low", "medium", "high", "max")}
    return {
        "thinking": {"types": {"adaptive": yes(adaptive), "enabled": yes(not adaptive)}},
        "effort": {"supported": bool(levels), **effort},
    }


@contextmanager
def answering(pages: dict[str, Any]) -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = pages.get(self.path)
            self.send_response(404 if found is None else 200)
            self.end_headers()
            text = found if isinstance(found, str) else json.dumps(found)
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def found(pages: dict[str, Any], profile: str) -> ModelLimits:
    with answering(pages) as url:
        endpoint = Endpoint(url, open_codec(find_profile(profile, None, None)))
        try:
            return await discover(endpoint, "m/1")
        finally:
            await endpoint.close()


@pytest.mark.parametrize(
    ("profile", "pages", "window", "output"),
    [
        (
            "anthropic",
            {"/v1/models/m%2F1": {"id": "m/1", "max_input_tokens": 1_000_000, "max_tokens": 9000}},
            1_000_000,
            9000,
        ),
        ("vllm", {"/v1/models": {"data": [{"id": "m/1", "max_model_len": 8192}]}}, 8192, None),
        ("openrouter", {"/v1/models": {"data": [{"id": "m/1", "context_length": 5}]}}, 5, None),
        ("llamacpp", {"/props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096, None),
        ("vllm", {"/v1/models": {"data": [{"id": "other", "max_model_len": 8192}]}}, None, None),
        ("vllm", {"/v1/models": "<html>no</html>"}, None, None),
        ("vllm", {"/v1/models": {"data": "?"}}, None, None),
        ("vllm", {"/v1/models": [1, 2]}, None, None),
        ("vllm", {"/v1/models/m%2F1": {"max_model_len": "many"}}, None, None),
        ("llamacpp", {"/props": {"default_generation_settings": 3}}, None, None),
    ],
)
async def test_limits_are_read_where_each_server_has_them(
    profile: str, pages: dict[str, Any], window: int | None, output: int | None
) -> None:
    said = await found(pages, profile)
    assert (said.context_window, said.max_output, said.budget) == (window, output, None)


async def test_the_budgets_of_a_model_by_its_own_word() -> None:
    async def budget(told: Any) -> Any:
        page = {"id": "m/1", "capabilities": told}
        return (await found({"/v1/models/m%2F1": page}, "anthropic")).budget

    thinking = {"type": "adaptive", "display": "summarized"}
    assert await budget(capabilities(adaptive=True, levels=("low", "high"))) == {
        "low": {"thinking": thinking, "output_config": {"effort": "low"}},
        "high": {"thinking": thinking, "output_config": {"effort": "high"}},
    }
    older = await budget(capabilities(adaptive=False))
    assert older["max"] == {"thinking": {"type": "enabled", "budget_tokens": 32768}}
    assert await budget({"thinking": None}) is None


async def test_a_server_that_is_not_there_says_nothing() -> None:
    endpoint = Endpoint("http://127.0.0.1:9/v1", open_codec(find_profile("vllm", None, None)))
    assert (await discover(endpoint, "m")).given() == {}
    await endpoint.close()
