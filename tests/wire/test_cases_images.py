"""The wire cases on images: how they go out, what they cost, what happens when one is refused."""

from __future__ import annotations

import base64
import io
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from deskwork.tasks.model_errors import ImageRefused
from deskwork.tasks.profiles import builtin, find_profile
from deskwork.tools.picture_tokens import anthropic_tokens, openai_tokens
from deskwork.tools.pictures import LONGEST_SIDE, MOST_BYTES, fit
from deskwork.tools.tool import ToolResult
from tests.jobs import answer, opened
from tests.wire.conformance import Stage, case, named, staged


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(side: int) -> Image.Image:
    return Image.frombytes("RGB", (side, side), random.Random(1).randbytes(side * side * 3))


PNG = encoded(Image.new("RGB", (30, 20), "red"), "PNG")
JPEG = encoded(Image.new("RGB", (30, 20), "red"), "JPEG")


async def shown(
    home: Path, profile: str, text: str, *images: bytes, responses: tuple[Any, ...] = ()
) -> Stage:
    """Ask about pictures; what the server saw."""
    with staged(*responses) as (url, stage):
        spoken = find_profile(profile, "chat" if profile == "openai" else None, None)
        async with opened(home, None, url=url, profile=spoken) as session:
            assert await answer(session, text, images=images) == "Done."
    return stage


def filled(pattern: Any, data: bytes) -> Any:
    """A case's request with these bytes where it says so."""
    text = json.dumps(pattern).replace("<b64>", base64.b64encode(data).decode())
    return json.loads(text)


@case("img-openai-data-url")
async def test_a_data_url_with_the_type_found(given_case: dict[str, Any], tmp_path: Path) -> None:
    stage = await shown(tmp_path, "openai", given_case["given"]["input"]["text"], PNG)
    user = stage.requests[0]["messages"][1]
    assert user["content"] == filled(given_case["expect"]["next_request"]["content"], PNG)


@case("img-anthropic-base64")
async def test_a_jpeg_is_a_jpeg_whatever_its_name(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    stage = await shown(tmp_path, "anthropic", given_case["given"]["input"]["text"], JPEG)
    (user,) = stage.requests[0]["messages"]
    blocks = [{k: v for k, v in block.items() if k != "cache_control"} for block in user["content"]]
    assert blocks == filled(given_case["expect"]["next_request"]["content"], JPEG)
    data = user["content"][0]["source"]["data"]
    assert base64.b64decode(data, validate=True) == JPEG


@case("img-detail-sglang")
async def test_detail_is_a_word_of_openai_alone(given_case: dict[str, Any], tmp_path: Path) -> None:
    # There is no setting for it: pictures are fitted before they are sent, to one size for all.
    (absent,) = given_case["expect"]["next_request"]["absent"]
    for kind in builtin():
        profile = find_profile(kind, "chat" if kind == "openai" else None, None)
        if profile.protocol == "chat":
            stage = await shown(tmp_path / profile.name, profile.name, "What is it?", PNG)
            said = f'"{absent}":'.encode() in stage.bodies[0]
            assert said == (profile.name == "openai"), profile.name


@case("img-oversize-anthropic")
async def test_a_picture_over_the_limit_is_shrunk_once(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    assert given_case["expect"]["parsed"]["max_raw_bytes"] == MOST_BYTES
    data = encoded(noise(1450), "PNG")
    assert len(data) > 6_000_000
    look = named("look")
    calls = {
        "status": 200,
        "headers": {"content-type": "application/json"},
        "body": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    }
    with staged(calls) as (url, stage):
        profile = find_profile("anthropic", None, None)
        async with opened(tmp_path, None, url=url, profile=profile, tools=[look]) as session:
            assert await answer(session, images=(data,)) == "Done."
    first, second = (request["messages"][0]["content"][0] for request in stage.requests)
    assert first["source"] == second["source"]
    sent = base64.b64decode(first["source"]["data"])
    assert len(sent) <= MOST_BYTES
    assert max(Image.open(io.BytesIO(sent)).size) <= LONGEST_SIDE


@case("img-oversize-anthropic", "img-many-anthropic")
async def test_a_refused_picture_of_the_history_does_not_block_for_ever(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    with staged(given_case["given"]["response"]) as (url, stage):
        profile = find_profile("anthropic", None, None)
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            with pytest.raises(ImageRefused, match=r"request req_1.*deskwork fork JOB"):
                await answer(session, images=(PNG,))
    assert len(stage.bodies) == 1


@case("img-many-anthropic")
def test_no_picture_has_a_side_that_many_of_them_may_not_have(given_case: dict[str, Any]) -> None:
    body = given_case["given"]["response"]["body"]
    most = body["error"]["details"]["max_side_length_pixels"]
    picture = fit(encoded(Image.new("RGB", (2500, 1200), "red"), "PNG"))
    assert (picture.width, picture.height) == (1568, 753)
    assert picture.width <= most


@case("img-token-cost")
def test_what_a_picture_costs(given_case: dict[str, Any]) -> None:
    reckoned = {
        "tile 85+170 (gpt-4o, gpt-4.1) 1024x1024 high": openai_tokens(1024, 1024, "gpt-4o"),
        "tile 70+140 (gpt-5) 1024x1024 high": openai_tokens(1024, 1024, "gpt-5"),
        "patch x1.2 (gpt-5.4) 1024x1024 high": openai_tokens(1024, 1024, "gpt-5.4"),
        "anthropic standard 1000x1000": anthropic_tokens(1000, 1000),
        "anthropic standard 3000x2000": anthropic_tokens(3000, 2000),
        "anthropic high 3000x2000": anthropic_tokens(3000, 2000, high=True),
    }
    assert reckoned == given_case["expect"]["parsed"]
    assert openai_tokens(1024, 1024, "gpt-4.1-2025-04-14") == 765
    # The vendor's own example: 33 by 44 squares.
    assert openai_tokens(1800, 2400, "gpt-4.1-mini") == math.ceil(33 * 44 * 1.62)
    assert (openai_tokens(1, 1, "o4-mini"), anthropic_tokens(1, 100_000)) == (2, 56)


@case("img-tool-result-anthropic")
@pytest.mark.parametrize("profile", ["anthropic", "vllm"])
async def test_a_tool_s_picture_stays_in_its_result(
    given_case: dict[str, Any], tmp_path: Path, profile: str
) -> None:
    look = named("look", ToolResult(text="text", images=(PNG,)))
    (expected,) = filled(given_case["expect"]["next_request"]["content"], PNG)
    content = [
        {"type": "tool_use", "id": expected["tool_use_id"], "name": "look", "input": {}},
    ]
    calls = {
        "status": 200,
        "headers": {"content-type": "application/json"},
        "body": {"id": "m", "content": content, "stop_reason": "tool_use", "usage": {}},
    }
    with staged(calls) as (url, stage):
        spoken = find_profile(profile, "messages", None)
        async with opened(tmp_path, None, url=url, profile=spoken, tools=[look]) as session:
            assert await answer(session) == "Done."
    (result,) = stage.requests[1]["messages"][2]["content"]
    assert {k: v for k, v in result.items() if k != "cache_control"} == expected


async def test_every_page_of_a_scan_goes_out_and_the_rest_is_told(tmp_path: Path) -> None:
    first, *more = [Image.new("L", (9, 9), number) for number in range(23)]
    scan = encoded(first, "TIFF", save_all=True, append_images=more)
    for profile in ("openai", "anthropic"):
        stage = await shown(tmp_path / profile, profile, "What is it?", scan)
        content = stage.requests[0]["messages"][-1]["content"]
        assert len([part for part in content if part["type"].startswith("image")]) == 20
        texts = [part["text"] for part in content if part["type"] == "text"]
        assert texts == [
            "What is it?",
            "[Picture 1 has 23 pages; only the first 20 are shown.]",
        ]


async def test_a_broken_picture_of_a_tool_is_told_and_the_job_goes_on(tmp_path: Path) -> None:
    look = named("look", ToolResult(text="seen", images=(PNG, PNG[:-30])))
    calls = {
        "status": 200,
        "headers": {"content-type": "application/json"},
        "body": {
            "choices": [
                {
                    "message": {
                        "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": "{}"}}]
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        },
    }
    with staged(calls) as (url, stage):
        async with opened(tmp_path, None, url=url, tools=[look]) as session:
            assert await answer(session) == "Done."
    _, _, _, result, pictures = stage.requests[1]["messages"]
    assert result["content"].startswith("seen\n\n[Picture 2 of look is broken")
    assert len([part for part in pictures["content"] if part["type"] == "image_url"]) == 1
