"""The wire cases on errors, retries and context overflow: which class, which wait, how often."""

from __future__ import annotations

import datetime
import email.utils
import json
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.limits import Limits
from deskwork.tasks.model_errors import (
    BodyTooLarge,
    ContextOverflow,
    FieldRefused,
    Loading,
    Rejected,
    from_response,
    retry_after,
)
from deskwork.tasks.retries import RetryPolicy
from tests.jobs import answer, opened
from tests.wire.asking import BODY, PROFILES, asked, once
from tests.wire.conformance import case, staged


@case(
    "err-context-llamacpp",
    "err-context-openai",
    "err-context-vllm-033",
    "err-sglang-flat",
)
async def test_an_overflow_is_known_with_its_numbers(given_case: dict[str, Any]) -> None:
    found, stage = await once(given_case)
    expected = given_case["expect"]["parsed"]["error"]
    assert isinstance(found.error, ContextOverflow)
    assert found.error.limit == expected["limit"]
    assert found.error.unit == "tokens"
    if "used_min" in expected:
        # A lower bound, and it says so.
        assert (found.error.used, found.error.at_least) == (expected["used_min"], True)
    elif "used" in expected:
        assert (found.error.used, found.error.at_least) == (expected["used"], False)
    assert len(stage.bodies) == 1


@case("err-context-openai")
def test_the_code_tells_an_overflow_whatever_the_text_says(given_case: dict[str, Any]) -> None:
    body = given_case["given"]["response"]["body"]
    by_code = {"error": {**body["error"], "message": "Too much."}}
    by_text = {"error": {**body["error"], "code": None}}
    for value, limit in ((by_code, None), (by_text, 128000)):
        error = from_response(400, {}, json.dumps(value).encode(), "It")
        assert isinstance(error, ContextOverflow)
        assert error.limit == limit


@case("err-context-llamacpp")
def test_llama_cpp_s_numbers_are_those_of_the_fields(given_case: dict[str, Any]) -> None:
    body = given_case["given"]["response"]["body"]
    silent = {"error": {**body["error"], "message": "too long"}}
    error = from_response(400, {}, json.dumps(silent).encode(), "It")
    assert isinstance(error, ContextOverflow)
    assert (error.used, error.limit) == (9000, 8192)


@case("err-context-vllm-033")
def test_vllm_s_twin_counts_characters(given_case: dict[str, Any]) -> None:
    body = json.loads(json.dumps(given_case["given"]["response"]["body"]))
    body["error"]["param"] = "input_text"
    body["error"]["message"] = (
        "This model's maximum context length is 4096 tokens. However, you requested 2048 output "
        "tokens and your prompt contains 875414 characters (more than 262144 characters, which is "
        "the upper bound for 2048 input tokens). Please reduce the length of the input prompt."
    )
    error = from_response(400, {}, json.dumps(body).encode(), "It")
    assert isinstance(error, ContextOverflow)
    assert (error.used, error.limit, error.unit) == (875414, 4096, "characters")
    assert error.numbers.reserved == 2048


@pytest.mark.parametrize(
    ("message", "used", "limit"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 210000, 200000),
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, "
            "decrease input length or `max_tokens` and try again",
            188240,
            200000,
        ),
        (
            "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
            140000,
            131072,
        ),
        (
            "This endpoint's maximum context length is 200000 tokens. However, you requested about "
            "210500 tokens (200500 of text input, 10000 in the output).",
            200500,
            200000,
        ),
        (
            "This model's maximum context length is 65536 tokens. However, you requested 70000 "
            "tokens (62000 in the messages, 8000 in the completion).",
            62000,
            65536,
        ),
        (
            "You passed 4001 input tokens and requested 100 output tokens. However, the model's "
            "context length is only 4096 tokens, resulting in a maximum input length of 3996.",
            4001,
            4096,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed "
            "(1048576).",
            1200000,
            1048576,
        ),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
            "maximum context length",
            40000,
            32768,
        ),
    ],
)
def test_overflows_of_other_servers(message: str, used: int, limit: int) -> None:
    error = from_response(400, {}, json.dumps({"error": {"message": message}}).encode(), "It")
    assert isinstance(error, ContextOverflow)
    assert (error.used, error.limit, error.at_least) == (used, limit, False)


@case("err-413")
async def test_a_body_too_large_is_its_own_class(given_case: dict[str, Any]) -> None:
    found, stage = await once(given_case)
    assert isinstance(found.error, BodyTooLarge)
    assert "(request req_1)" in str(found.error)
    assert len(stage.bodies) == 1


async def test_a_proxy_s_413_is_about_bytes_too() -> None:
    page = "<html><title>413 Request Entity Too Large</title></html>"
    with staged({"status": 413, "headers": {}, "body": page}) as (url, stage):
        found = await asked(url, "gateway")
    assert isinstance(found.error, BodyTooLarge)
    assert len(stage.bodies) == 1


@case("err-413")
async def test_a_request_over_the_known_limit_is_not_sent(given_case: dict[str, Any]) -> None:
    limits = {"anthropic": 32 * 1024**2, "moonshot": 100 * 1024**2, "gateway": None}
    for profile, most in limits.items():
        with staged() as (url, stage):
            found = await asked(url, profile, BODY + b" " * (most or 33 * 1024**2))
        if most:
            assert isinstance(found.error, BodyTooLarge)
            # The design keeps every history as it is: instead of moving pictures out of it, the
            # job stops and says how to go on without them.
            assert "deskwork fork" in str(found.error)
            assert stage.bodies == []
        else:
            assert (found.text, len(stage.bodies)) == ("Done.", 1)


@case("oai-choices-empty-200")
async def test_an_error_with_status_200_has_the_status_it_names(given_case: dict[str, Any]) -> None:
    found, stage = await once(given_case)
    assert found.text == "Done."
    assert 'answered 502: "Provider returned error"' in str(found.troubles[0])
    assert stage.bodies == [BODY, BODY]


@case("err-400-never-blind")
async def test_a_400_is_sent_once_and_the_job_can_go_on(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url) as session:
            with pytest.raises(Rejected, match=r"messages\.3: bad"):
                await answer(session)
        assert len(stage.bodies) == 1
        # A person has mended what was wrong: the same job goes on.
        async with opened(tmp_path, None, url=url) as session:
            assert await answer(session, limits=Limits()) == "Done."
        assert len(stage.bodies) == 2


@case("err-429-engine-overloaded", "err-529")
async def test_overload_is_retried_with_back_off_and_jitter(given_case: dict[str, Any]) -> None:
    response = given_case["given"]["response"]
    waits = []
    for _ in range(5):
        with staged(response, response) as (url, stage):
            found = await asked(url, PROFILES[given_case["protocol"]])
        assert found.text == "Done."
        assert stage.bodies == [BODY] * 3
        assert 0.37 < found.waits[0] < 0.63
        assert 0.75 < found.waits[1] < 1.26
        waits.append(tuple(found.waits))
    assert len(set(waits)) == 5
    request_id = response["body"].get("request_id")
    assert not request_id or f"(request {request_id})" in str(found.troubles[0])


@case("err-429-retry-after")
async def test_the_wait_asked_for_is_kept_and_the_bytes_are_the_same(
    given_case: dict[str, Any],
) -> None:
    with staged(*given_case["given"]["responses"]) as (url, stage):
        found = await asked(url, "openai")
    assert found.text == "x"
    assert found.waits == [3.0]
    assert stage.bodies == [BODY, BODY]


@case("err-429-retry-after-date")
async def test_a_date_to_wait_for(given_case: dict[str, Any]) -> None:
    response = given_case["given"]["response"]
    assert retry_after(response["headers"]) == given_case["expect"]["parsed"]["wait_s"]
    late = {**response["headers"], "date": "Mon, 30 Nov 2026 12:01:00 GMT"}
    assert retry_after(late) == 0.0
    # The server on loopback sends its own date of now.
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=9)
    assert 5 < (retry_after({"retry-after": email.utils.format_datetime(soon, True)}) or 0) <= 9
    header = {"retry-after": email.utils.format_datetime(soon, usegmt=True)}
    with staged({**response, "headers": header}) as (url, _):
        found = await asked(url, "gateway")
    assert found.text == "Done."
    assert 5 < found.waits[0] <= 9


@case("err-429-retry-after-ms")
async def test_milliseconds_win(given_case: dict[str, Any]) -> None:
    found, _ = await once(given_case)
    assert found.waits == [given_case["expect"]["parsed"]["wait_s"]]


@case("err-llamacpp-loading")
async def test_loading_is_waited_for_apart_from_the_retries(given_case: dict[str, Any]) -> None:
    loading = given_case["given"]["response"]
    busy = {"status": 500, "headers": {}, "body": {"error": {"message": "busy"}}}
    with staged(*[loading] * 12, busy, busy) as (url, stage):
        found = await asked(url, "llamacpp")
    assert found.text == "Done."
    assert len(stage.bodies) == 15
    own = [
        wait
        for wait, error in zip(found.waits, found.troubles, strict=True)
        if isinstance(error, Loading)
    ]
    assert own[:5] == sorted(own[:5])
    assert max(own) <= 8.5
    with staged(*[loading] * 200) as (url, stage):
        found = await asked(url, "llamacpp", retries=RetryPolicy(loading_longest=60))
    assert isinstance(found.error, Loading)
    assert 60 <= sum(found.waits) < 80
    assert len(stage.bodies) < 20


@case("err-should-retry-header")
async def test_the_header_says_whether_to_retry(given_case: dict[str, Any]) -> None:
    retried = []
    for response in given_case["given"]["responses_each"]:
        with staged(response) as (url, stage):
            found = await asked(url, "openai")
        retried.append(found.text == "Done.")
        assert len(stage.bodies) == (2 if retried[-1] else 1)
    assert retried == given_case["expect"]["parsed"]["retryable"]


@pytest.mark.parametrize("header", ["x-request-id", "request-id"])
async def test_the_request_s_id_is_told(header: str) -> None:
    response = {"status": 400, "headers": {header: "abc-1"}, "body": {"error": {"message": "no"}}}
    with staged(response) as (url, _):
        found = await asked(url, "gateway")
    assert '"no" (request abc-1).' in str(found.error)


@pytest.mark.parametrize(
    ("status", "body", "name"),
    [
        (
            422,
            {
                "object": "error",
                "message": {
                    "detail": [
                        {"type": "extra_forbidden", "loc": ["body", "thinking"], "msg": "Extra"}
                    ]
                },
                "type": "invalid_request_error",
            },
            "thinking",
        ),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "m", 3, "r"]}]}, "m.3.r"),
        (
            400,
            {"error": {"message": "property 'reasoning_content' is unsupported"}},
            "reasoning_content",
        ),
        (
            400,
            {"error": {"message": "Unknown parameter", "code": "unknown_parameter", "param": "x"}},
            "x",
        ),
    ],
)
async def test_a_field_that_a_server_does_not_know(status: int, body: Any, name: str) -> None:
    with staged({"status": status, "headers": {}, "body": body}) as (url, stage):
        found = await asked(url, "gateway")
    assert isinstance(found.error, FieldRefused)
    assert found.error.field == name
    assert "DESKWORK_PROFILE" in str(found.error)
    assert len(stage.bodies) == 1
