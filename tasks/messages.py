"""The messages protocol: Anthropic-compatible ``/messages``, streamed.

A reply's content blocks go back exactly as they came: newer models bind each thinking block to
all that stands before it. User items are stored as content blocks and grouped when a request is
joined, since all results of a turn must stand in one user message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from deskwork.tasks.cache_marks import marked
from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.entries import BlobSegment, Body, joined
from deskwork.tasks.messages_stream import MessagesParser, reply_from
from deskwork.tasks.profiles import Profile
from deskwork.tasks.protocol import NOTHING_REPAIRED, Encoded, FreshId, ImageRef, Opening
from deskwork.tasks.replies import Finish, Reply, valid_object
from deskwork.tools.tool import Tool

_GROUPED = ("tool", "joined")


class MessagesCodec:
    """Encodes conversations as messages of content blocks."""

    path = "/messages"
    usual_finish: ClassVar[dict[Finish, str]] = {
        "answer": "end_turn",
        "calls": "tool_use",
        "length": "max_tokens",
    }

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def headers(self, key: str | None) -> dict[str, str]:
        """The key's own header and the pinned API version."""
        return {**self.profile.headers, **({"x-api-key": key} if key else {})}

    def tools(self, tools: Sequence[Tool]) -> bytes:
        """Tools with their input schemas."""
        if not tools:
            return b""
        return dumps(
            [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                }
                for tool in tools
            ]
        )

    def system(self, text: str) -> bytes:
        """One text block."""
        return dumps([{"type": "text", "text": text}])

    def user(self, parts: Sequence[str | ImageRef]) -> Body:
        """Content blocks, pictures before the text, without the message around them."""
        images = [part for part in parts if isinstance(part, ImageRef)]
        texts = [part for part in parts if isinstance(part, str)]
        return _blocks(texts, images)

    def assistant(
        self, reply: Reply, fresh_id: FreshId, repaired: Mapping[int, str] = NOTHING_REPAIRED
    ) -> Encoded:
        """The blocks as they came; only empty text blocks and repeated ids are mended."""
        blocks: list[dict[str, Any]] = []
        ids: list[str] = []
        received: dict[str, Any] = {}
        for index, block in enumerate(reply.message["content"]):
            if block.get("type") == "text" and not block.get("text"):
                received[f"content.{index}"] = block
                continue
            if block.get("type") == "tool_use":
                given, place = block.get("input"), len(ids)
                call_id = fresh_id(place, block.get("id") or "", ids)
                ids.append(call_id)
                if call_id != block.get("id") or not isinstance(given, dict):
                    received[f"content.{index}"] = block
                    usable = loads(repaired.get(place) or valid_object(given))
                    block = {**block, "id": call_id, "input": usable}
            blocks.append(block)
        wire = {"role": "assistant", "content": blocks}
        return Encoded(dumps(wire), received, tuple(ids))

    def result(
        self, call_id: str, text: str, images: Sequence[ImageRef], *, is_error: bool
    ) -> Body:
        """A tool_result block; pictures stand inside it."""
        opening = dumps({"type": "tool_result", "tool_use_id": call_id})[:-1]
        if is_error:
            opening += b',"is_error":true'
        inner = _blocks([text], images, images_first=False)
        return joined([opening + b',"content":[', *inner, b"]}"])

    def images_after_results(self, images: Sequence[ImageRef]) -> Body | None:
        """Nothing: results hold their pictures themselves."""
        return None

    def glue(self, before: str | None, kind: str) -> bytes:
        """Opens and closes user messages around the blocks that belong together."""
        opening = b"" if kind == "assistant" else b'{"role":"user","content":['
        if before is None:
            return opening
        if before == "assistant":
            return b"," + opening
        if kind == "joined" or (before in _GROUPED and kind == "tool"):
            return b","
        return b"]}," + opening

    def head(self, opening: Opening) -> bytes:
        """Model, tools, system, and the messages array's start."""
        tools, system = opening.tools, opening.system
        if self.profile.cache_marks:
            tools, system = tools and marked(tools), marked(system)
        tools = b',"tools":' + tools if tools else b""
        return (
            b'{"model":' + dumps(opening.model) + tools + b',"system":' + system + b',"messages":['
        )

    def tail(self, opening: Opening, last: str | None, max_output: int | None) -> bytes:
        """Closes the last message; then the required output limit, the tier, streaming."""
        limit = max_output or self.profile.max_output or 32_000
        budget = self.profile.budget.get(opening.effective, {})
        fields = {"max_tokens": limit, "stream": True, **budget}
        close = b"" if last in (None, "assistant") else b"]}"
        return close + b"]," + dumps(fields)[1:]

    def parser(self) -> MessagesParser:
        """A parser for one streamed reply."""
        return MessagesParser()

    def whole(self, data: Any) -> Reply:
        """A message object that came in one piece."""
        return reply_from(data)

    def read_system(self, wire: bytes) -> str:
        """The text of the system's one block."""
        return str(loads(wire)[0]["text"])

    def read_user(self, wire: bytes) -> list[str | ImageRef]:
        """The blocks of a user entry: texts, and pictures that hold their blob's hash."""
        return [
            block["text"]
            if block["type"] == "text"
            else ImageRef(
                block["source"]["data"].removeprefix("blob:"), block["source"]["media_type"]
            )
            for block in loads(b"[" + wire + b"]")
        ]

    def read_result(self, wire: bytes) -> str:
        """The text blocks of a tool_result."""
        return "".join(block["text"] for block in loads(wire)["content"] if block["type"] == "text")

    def foreign(self, reply: Reply, *, raw: bool) -> tuple[dict[str, Any], dict[str, int]]:
        """Text and calls; thinking bears its maker's signature, so only its like can read it."""
        if raw:
            kept = [
                block
                for block in reply.message["content"]
                if block.get("type") not in self.profile.refuses_blocks
            ]
            gone = len(reply.message["content"]) - len(kept)
            return {"content": kept}, {"thinking": gone} if gone else {}
        content: list[dict[str, Any]] = []
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        for call in reply.calls:
            try:
                given = loads(call.arguments or "{}")
            except ValueError:
                given = {}
            content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
        return {"content": content}, {"thinking": 1} if reply.thinks else {}

    def reread(self, wire: bytes, meta: dict[str, Any]) -> Reply:
        """The reply in an assistant entry; an input that was no object comes back as text."""
        content = loads(wire)["content"]
        raw_finish = meta.get("raw_finish") or self.usual_finish[meta["finish"]]
        received = meta.get("received", {})
        index = 0
        for block in content:
            while received.get(f"content.{index}", {}).get("type") == "text":
                index += 1  # an empty text, which was left out
            raw = received.get(f"content.{index}", {})
            if raw.get("type") == "tool_use" and not isinstance(raw.get("input"), dict):
                block["input"] = raw.get("input")
            index += 1
        return reply_from({"content": content, "stop_reason": raw_finish})


def _blocks(texts: Sequence[str], images: Sequence[ImageRef], *, images_first: bool = True) -> Body:
    written = [_text(text) for text in texts]
    pictures = [_image(image) for image in images]
    ordered = pictures + written if images_first else written + pictures
    parts: list[bytes | BlobSegment] = []
    for index, block in enumerate(ordered):
        if index:
            parts.append(b",")
        parts += block
    return joined(parts)


def _text(text: str) -> list[bytes | BlobSegment]:
    # An empty text block is a 400.
    return [dumps({"type": "text", "text": text or "(no output)"})]


def _image(image: ImageRef) -> list[bytes | BlobSegment]:
    source = f'{{"type":"image","source":{{"type":"base64","media_type":"{image.media_type}"'
    return [source.encode() + b',"data":"', BlobSegment(image.sha256), b'"}}']
