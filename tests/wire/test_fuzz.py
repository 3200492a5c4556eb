"""Garbage in every form a server may send it: a clear error or a reply that can be sent back.

What a parser lets through is recorded and replayed for the rest of a job, so each reply found here
is encoded, stored, read again and put into a request.
"""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskwork.tasks.conversation import Conversation
from deskwork.tasks.entries import Draft, Entry, pack
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.protocol import Codec, open_codec
from deskwork.tasks.replies import Reply, ToolCall
from deskwork.tasks.sse import EventDecoder
from deskwork.tools.errors import Stop, Transient

CODECS: dict[str, Codec] = {
    "chat": open_codec(find_profile("gateway", "chat", None)),
    # Other ids, required thinking, no empty content.
    "deepseek": open_codec(find_profile("deepseek", "chat", None)),
    "messages": open_codec(find_profile("anthropic", "messages", None)),
    "responses": open_codec(find_profile("openai", "responses", None)),
}
# The deadline is for a parser that hangs or takes a time that grows with the square.
FUZZ = settings(max_examples=150, deadline=5000)
every_protocol = pytest.mark.parametrize("protocol", CODECS)


def outcome(codec: Codec, data: bytes) -> Reply | None:
    """The reply, checked for use, or None for a clear error. Any other exception is a failure."""
    decoder, parser = EventDecoder(), codec.parser()
    try:
        for event in [*decoder.feed(data), *decoder.close()]:
            parser.feed(event)
        reply = parser.result()
    except (Transient, Stop):
        return None
    check_usable(codec, reply)
    return reply


def check_usable(codec: Codec, reply: Reply) -> None:
    """Record the reply, read it back, and put it into a request."""
    meta: dict[str, Any] = {"label": "x", "model": "m", "tier": "high"}
    conversation = Conversation(1, meta, codec, b"")
    conversation.apply(entry(1, "system", {}, codec.system("s")), codec.system("s"))
    (user,) = codec.user(["u"])
    assert isinstance(user, bytes)
    conversation.apply(entry(2, "user", {}, user), user)
    encoded = codec.assistant(reply, conversation.fresh_id)
    meta = {"finish": reply.finish, "raw_finish": reply.raw_finish, "received": encoded.received}
    meta["usage"] = reply.usage and reply.usage.as_json()
    pack(Draft("assistant", {**meta, "model": reply.model, "id": reply.response_id}))
    pack(Draft("discarded", {"refusal": reply.refusal, "thinking": reply.thinking}))
    if encoded.body:
        conversation.apply(entry(3, "assistant", meta, encoded.body), encoded.body)
        again = conversation.reply
        assert again is not None
        assert (again.text, again.finish) == (reply.text, reply.finish)
        ids = [call.id for call in again.calls]
        assert tuple(ids) == encoded.call_ids
        assert all(isinstance(call_id, str) and call_id for call_id in ids)
        assert len(set(ids)) == len(ids) == len(reply.calls)
        assert [written(call) for call in again.calls] == [written(call) for call in reply.calls]
    json.loads(b"".join(conversation.request()))


def written(call: ToolCall) -> tuple[str, str]:
    """What a call says; no arguments are an empty object."""
    return call.name, call.arguments or "{}"


def entry(seq: int, kind: str, meta: dict[str, Any], body: bytes) -> Entry:
    return Entry(seq, 1, kind, meta, (body,), b"", 0.0)


# Strategies

KEYS = [
    *("type", "id", "index", "content", "delta", "text", "thinking", "name", "arguments", "input"),
    *("choices", "finish_reason", "tool_calls", "function", "usage", "message", "content_block"),
    *("output", "item", "output_index", "response", "status", "error", "code", "summary"),
    *("call_id", "encrypted_content", "stop_reason", "partial_json", "reasoning_details"),
    *("prompt_tokens_details", "input_tokens_details", "refusal", "incomplete_details", "reason"),
]
WORDS = [
    *("reasoning", "function_call", "tool_use", "text", "output_text", "refusal", "message"),
    *("completed", "incomplete", "failed", "stop", "length", "content_filter", "max_tokens"),
]
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
said = st.builds(
    Said,
    text=st.text(max_size=20),
    thinking=st.text(max_size=10),
    calls=st.lists(
        st.tuples(st.just("f"), st.dictionaries(st.text(), values, max_size=2) | st.text()),
        max_size=3,
    ),
)


def stream_of(codec: Codec, line: Said) -> bytes:
    return b"".join(ScriptedModel([line]).respond(codec.path, b'{"model":"m","stream":true }')[2])


def whole_of(codec: Codec, line: Said) -> Any:
    body = b'{"model":"m","stream":false}'
    return json.loads(b"".join(ScriptedModel([line]).respond(codec.path, body)[2]))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything inside a JSON value, itself included."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *itertools.chain(*(places(item, (*path, key)) for key, item in items))]


def mutated(data: st.DataObject, value: Any) -> Any:
    """The value with a part somewhere replaced by anything, or taken out."""
    path = data.draw(st.sampled_from(places(value)))
    if not path:
        return data.draw(values)
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[path[-1]] = data.draw(values)
    else:
        del inner[path[-1]]
    return value


# Properties


@every_protocol
@FUZZ
@given(data=st.binary(max_size=300) | st.sampled_from([b"NaN", b'{"usage":1e999}', b"-Infinity"]))
def test_random_bytes(protocol: str, data: bytes) -> None:
    for sent in (data, b"data: " + data + b"\n\n"):
        outcome(CODECS[protocol], sent)


@every_protocol
@FUZZ
@given(chunks=st.lists(values, max_size=4), line=said, before=st.booleans())
def test_random_json_in_place_of_chunks(
    protocol: str, chunks: list[Any], line: Said, before: bool
) -> None:
    codec = CODECS[protocol]
    garbage = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    outcome(codec, garbage)
    valid = stream_of(codec, line)
    outcome(codec, garbage + valid if before else valid + garbage)


@every_protocol
@FUZZ
@given(line=said, cut=st.floats(0, 1))
def test_a_truncated_stream_is_never_a_shorter_reply(protocol: str, line: Said, cut: float) -> None:
    codec = CODECS[protocol]
    stream = stream_of(codec, line)
    whole = outcome(codec, stream)
    assert whole is not None
    part = outcome(codec, stream[: int(cut * len(stream))])
    assert part is None or part.message == whole.message


@every_protocol
@FUZZ
@given(line=said, data=st.data())
def test_mutated_events(protocol: str, line: Said, data: st.DataObject) -> None:
    """A part of an event replaced or missing; an event lost, doubled, or in the wrong place."""
    codec = CODECS[protocol]
    events = stream_of(codec, line).split(b"\n\n")
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(events) - 1))
        kind = data.draw(st.sampled_from(["mutate", "mutate", "lose", "double", "move"]))
        head, mark, text = events[index].partition(b"data: ")
        if kind == "mutate" and text.startswith(b"{"):
            changed = json.dumps(mutated(data, json.loads(text)))
            events[index] = head + mark + changed.encode()
        elif kind == "lose" and len(events) > 1:
            del events[index]
        elif kind == "double":
            events.insert(index, events[index])
        elif kind == "move":
            events.insert(data.draw(st.integers(0, len(events) - 1)), events.pop(index))
    outcome(codec, b"\n\n".join(events))


@every_protocol
@FUZZ
@given(line=said, flips=st.lists(st.tuples(st.integers(0), st.binary(max_size=3)), max_size=4))
def test_mutated_bytes(protocol: str, line: Said, flips: list[tuple[int, bytes]]) -> None:
    codec = CODECS[protocol]
    stream = bytearray(stream_of(codec, line))
    for place, new in flips:
        place %= len(stream)
        stream[place : place + 1] = new
    outcome(codec, bytes(stream))


@every_protocol
@FUZZ
@given(line=said, data=st.data())
def test_mutated_replies_in_one_piece(protocol: str, line: Said, data: st.DataObject) -> None:
    codec = CODECS[protocol]
    value = whole_of(codec, line)
    check_usable(codec, codec.whole(value))
    for changed in (mutated(data, mutated(data, value)), data.draw(values)):
        try:
            reply = codec.whole(changed)
        except (Transient, Stop):
            continue
        check_usable(codec, reply)


@every_protocol
@FUZZ
@given(line=said)
def test_streamed_and_whole_are_the_same_reply(protocol: str, line: Said) -> None:
    codec = CODECS[protocol]
    streamed, whole = outcome(codec, stream_of(codec, line)), codec.whole(whole_of(codec, line))
    assert streamed is not None
    assert (streamed.text, streamed.thinking) == (whole.text, whole.thinking)
    assert (streamed.text, streamed.thinking) == (line.text, line.thinking)
    assert (streamed.finish, streamed.usage) == (whole.finish, whole.usage)
    assert [(c.id, c.name) for c in streamed.calls] == [(c.id, c.name) for c in whole.calls]


@every_protocol
def test_deep_nesting_is_a_clear_error(protocol: str) -> None:
    deep = b"[" * 200_000 + b"]" * 200_000
    assert outcome(CODECS[protocol], b"data: " + deep + b"\n\n") is None
