"""Stream parsers: any split of the bytes gives the same reply, any garbage a clear error."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskwork.tasks.chat_stream import ChatParser
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.messages_stream import MessagesParser
from deskwork.tasks.model_errors import BrokenStream
from deskwork.tasks.protocol import ReplyParser
from deskwork.tasks.replies import Reply
from deskwork.tasks.responses_stream import ResponsesParser
from deskwork.tasks.sse import Event, EventDecoder
from deskwork.tools.errors import DeskworkError

PATHS: dict[str, type[ChatParser | MessagesParser | ResponsesParser]] = {
    "/chat/completions": ChatParser,
    "/messages": MessagesParser,
    "/responses": ResponsesParser,
}


def parse(parser: ReplyParser, chunks: list[bytes]) -> Reply:
    decoder = EventDecoder()
    for chunk in chunks:
        for event in decoder.feed(chunk):
            parser.feed(event)
    for event in decoder.close():
        parser.feed(event)
    return parser.result()


def split(data: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted({place % (len(data) + 1) for place in places})
    bounds = [0, *cuts, len(data)]
    return [data[a:b] for a, b in itertools.pairwise(bounds)]


said = st.builds(
    Said,
    text=st.text(),
    thinking=st.text(),
    calls=st.lists(
        st.tuples(st.just("f"), st.dictionaries(st.text(), st.text(), max_size=3)), max_size=3
    ),
)


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=60, deadline=None)
@given(said=said, places=st.lists(st.integers(0, 10_000), max_size=30), cr=st.booleans())
def test_any_split_gives_the_same_reply(path: str, said: Said, places: list[int], cr: bool) -> None:
    _, _, chunks = ScriptedModel([said]).respond(path, b'{"model":"m","stream":true}')
    data = b"".join(chunks)
    if cr:
        data = data.replace(b"\n", b"\r\n")
    whole = parse(PATHS[path](), [data])
    pieces = parse(PATHS[path](), split(data, places))
    assert pieces == whole
    assert whole.text == said.text
    assert whole.thinking == said.thinking
    assert [json.loads(call.arguments) for call in whole.calls] == [c[1] for c in said.calls]


FIELDS = [
    *("choices", "delta", "tool_calls", "function", "index", "content", "usage", "type", "text"),
    *("message", "content_block", "error", "id", "finish_reason", "arguments"),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200) | json_values.map(lambda v: json.dumps(v).encode()))
def test_any_garbage_gives_a_reply_or_a_clear_error(path: str, data: bytes) -> None:
    parser = PATHS[path]()
    # Any other exception fails the test.
    with contextlib.suppress(DeskworkError):
        parse(parser, [b"data: " + data + b"\n\n"])


def chat(*deltas: dict[str, Any], finish: str = "tool_calls") -> Reply:
    parser = ChatParser()
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        parser.feed(Event("message", json.dumps({"choices": [choice]})))
    last = {"index": 0, "delta": {}, "finish_reason": finish}
    parser.feed(Event("message", json.dumps({"choices": [last]})))
    return parser.result()


def call(arguments: str, **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"tool_calls": [{"function": function, **fields}]}


@pytest.mark.parametrize(
    "deltas",
    [
        # By index, arguments in fragments.
        [
            call('{"x', index=0, id="a", name="f"),
            call('{"y', index=1, id="b", name="g"),
            call('":1}', index=0),
            call('":2}', index=1),
        ],
        # Every index zero: a new id opens a new call.
        [
            call('{"x":1}', index=0, id="a", name="f"),
            call('{"y":2}', index=0, id="b", name="g"),
        ],
        # No index at all.
        [
            call('{"x"', id="a", name="f"),
            call(":1}"),
            call('{"y":2}', id="b", name="g"),
        ],
        # The id and the name repeated in each fragment.
        [
            call('{"x"', index=0, id="a", name="f"),
            call(":1}", index=0, id="a", name="f"),
            call('{"y":2}', index=1, id="b", name="g"),
        ],
    ],
)
def test_calls_are_joined_however_a_server_splits_them(deltas: list[dict[str, Any]]) -> None:
    reply = chat(*deltas)
    assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.calls] == [
        ("a", "f", {"x": 1}),
        ("b", "g", {"y": 2}),
    ]


def test_reasoning_details_are_joined_by_index_and_type() -> None:
    reply = chat(
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "A"}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "B"}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "D"}]},
        {"content": "ok"},
        finish="stop",
    )
    assert reply.message["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "AB", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "D"},
    ]


@pytest.mark.parametrize(
    ("finish", "deltas", "expected"),
    [
        ("stop", [call("{}", index=0, id="a", name="f")], "calls"),
        ("tool_calls", [{"content": "Done."}], "answer"),
        ("length", [call("{}", index=0, id="a", name="f")], "length"),
        ("content_filter", [{"content": ""}], "refused"),
        ("stop", [{"refusal": "I won't."}], "refused"),
        ("something_new", [{"content": "x"}], "answer"),
    ],
)
def test_finish_reasons(finish: str, deltas: list[dict[str, Any]], expected: str) -> None:
    assert chat(*deltas, finish=finish).finish == expected


def test_a_byte_order_mark_costs_no_event() -> None:
    decoder = EventDecoder()
    events = [
        e for byte in b"\xef\xbb\xbfdata: a\n\ndata: b\n\n" for e in decoder.feed(bytes([byte]))
    ]
    assert [event.data for event in events] == ["a", "b"]


def test_content_in_parts_is_text_and_thinking() -> None:
    reply = chat(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": [{"type": "text", "text": "a"}]},
        {"content": "b"},
        finish="stop",
    )
    assert (reply.text, reply.thinking) == ("ab", "hm")


@pytest.mark.parametrize("count", ["12", None, -1, True, 10**30, [1]])
def test_odd_token_counts_are_unknown(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 5}
    message = {"content": "x"}
    data = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    from deskwork.tasks.chat_stream import reply_from

    reply = reply_from(data)
    assert reply.usage is not None
    assert reply.usage.as_json() == {"output": 5}


def test_an_input_given_at_the_start_of_a_block_is_kept() -> None:
    parser = MessagesParser()
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}
    text = {"type": "text", "text": "t", "citations": None}
    citation = {"type": "citations_delta", "citation": {"n": 1}}
    for data in (
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": text},
        {"type": "content_block_delta", "index": 0, "delta": citation},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": "9"},
        },
    ):
        parser.feed(Event("message", json.dumps(data)))
    reply = parser.result()
    assert json.loads(reply.calls[0].arguments) == {"x": 1}
    assert reply.message["content"][0]["citations"] == [{"n": 1}]


@pytest.mark.parametrize("ids", [("a", "b"), (None, None)])
def test_items_without_an_index_are_told_apart(ids: tuple[str | None, str | None]) -> None:
    """llama.cpp sends no ``output_index``."""
    parser = ResponsesParser()
    for item_id, text in zip(ids, ("one ", "two"), strict=True):
        item: dict[str, Any] = {"type": "message", "id": item_id, "content": []}
        full = {**item, "content": [{"type": "output_text", "text": text}]}
        for kind, value in (("added", item), ("done", full)):
            data = {"type": f"response.output_item.{kind}", "item": value}
            parser.feed(Event("message", json.dumps(data)))
    parser.feed(Event("response.completed", '{"response": {}}'))
    assert parser.result().text == "one two"


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_an_item_that_never_ended_is_no_part_of_a_reply(status: str) -> None:
    def feed(output: list[Any]) -> Reply:
        parser = ResponsesParser()
        item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
        added = {"type": "response.output_item.added", "output_index": 0, "item": item}
        parser.feed(Event("message", json.dumps(added)))
        final = {"type": f"response.{status}", "response": {"output": output}}
        parser.feed(Event("message", json.dumps(final)))
        return parser.result()

    whole = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert [call.arguments for call in feed([whole]).calls] == ["{}"]
    if status == "incomplete":
        assert feed([]).calls == ()
    else:
        with pytest.raises(BrokenStream, match="before an item"):
            feed([])
