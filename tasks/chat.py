"""The chat protocol: OpenAI-compatible ``/chat/completions``, streamed.

What differs between servers (names of the thinking field, ids, limits) comes from the profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from deskwork.tasks.chat_stream import ChatParser, reply_from
from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.entries import BlobSegment, Body, joined
from deskwork.tasks.profiles import Profile
from deskwork.tasks.protocol import NOTHING_REPAIRED, Encoded, FreshId, ImageRef, Opening
from deskwork.tasks.replies import Finish, Reply, valid_object
from deskwork.tools.tool import Tool

_THINKING = ("reasoning_content", "reasoning")


class ChatCodec:
    """Encodes conversations as chat messages."""

    path = "/chat/completions"
    usual_finish: ClassVar[dict[Finish, str]] = {
        "answer": "stop",
        "calls": "tool_calls",
        "length": "length",
    }

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def headers(self, key: str | None) -> dict[str, str]:
        """Bearer authentication and the profile's own headers."""
        return {**self.profile.headers, **({"authorization": f"Bearer {key}"} if key else {})}

    def tools(self, tools: Sequence[Tool]) -> bytes:
        """Function tools; nothing for none, since vLLM answers an empty list with 400."""
        if not tools:
            return b""
        return dumps(
            [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in tools
            ]
        )

    def system(self, text: str) -> bytes:
        """A system message."""
        return dumps({"role": "system", "content": text})

    def user(self, parts: Sequence[str | ImageRef]) -> Body:
        """A user message: plain text where there is nothing else, parts otherwise."""
        if len(parts) == 1 and isinstance(parts[0], str):
            return (dumps({"role": "user", "content": parts[0]}),)
        body: list[bytes | BlobSegment] = [b'{"role":"user","content":[']
        for index, part in enumerate(parts):
            if index:
                body.append(b",")
            if isinstance(part, str):
                body.append(dumps({"type": "text", "text": part}))
            else:
                opening = f'{{"type":"image_url","image_url":{{"url":"data:{part.media_type}'
                # The default, said where it is known; other servers refuse words of it.
                detail = b'","detail":"auto"}}' if self.profile.image_detail else b'"}}'
                body += [opening.encode() + b";base64,", BlobSegment(part.sha256), detail]
        body.append(b"]}")
        return joined(body)

    def assistant(
        self, reply: Reply, fresh_id: FreshId, repaired: Mapping[int, str] = NOTHING_REPAIRED
    ) -> Encoded:
        """The reply under the names this server reads, its calls' arguments valid objects."""
        message = reply.message
        wire: dict[str, Any] = {"role": "assistant"}
        received: dict[str, Any] = {}
        if "content" in message:
            content = message["content"]
            said = _not_empty(content) if self.profile.omit_empty_content else content
            if said or not self.profile.omit_empty_content:
                wire["content"] = said
            if said != content:
                received["content"] = content
        self._thinking(message, wire, received)
        for name in ("reasoning_details", "refusal"):
            if message.get(name) is not None:
                wire[name] = message[name]
        ids = self._calls(message.get("tool_calls") or [], wire, received, fresh_id, repaired)
        return Encoded(dumps(wire), received, ids)

    def _thinking(
        self, message: dict[str, Any], wire: dict[str, Any], received: dict[str, Any]
    ) -> None:
        source = next((name for name in _THINKING if message.get(name) is not None), None)
        thinking = message[source] if source else None
        if not thinking and self.profile.reasoning_required and message.get("tool_calls"):
            thinking = self.profile.reasoning_placeholder
        if source and thinking and self.profile.reasoning_in_content:
            said = [{"type": "text", "text": text}] if (text := message.get("content")) else []
            wire["content"] = [
                {"type": "thinking", "thinking": [{"type": "text", "text": thinking}]},
                *said,
            ]
            received["thinking_under"] = source
            return
        if source and (source not in self.profile.reasoning_fields):
            received["thinking_under"] = source
            if not self.profile.reasoning_fields:
                received[source] = thinking
        for name in _THINKING:
            # Two names with two texts: what can't be sent back is kept here.
            if name != source and message.get(name) not in (None, thinking):
                received[name] = message[name]
        if thinking is not None:
            wire.update(dict.fromkeys(self.profile.reasoning_fields, thinking))

    def _calls(
        self,
        calls: list[dict[str, Any]],
        wire: dict[str, Any],
        received: dict[str, Any],
        fresh_id: FreshId,
        repaired: Mapping[int, str],
    ) -> tuple[str, ...]:
        sent: list[dict[str, Any]] = []
        for place, call in enumerate(calls):
            function = call.get("function") or {}
            arguments = repaired.get(place) or valid_object(function.get("arguments"))
            call_id = fresh_id(place, call.get("id") or "", [other["id"] for other in sent])
            if arguments != function.get("arguments"):
                received[f"tool_calls.{place}.arguments"] = function.get("arguments")
            if call_id != call.get("id"):
                received[f"tool_calls.{place}.id"] = call.get("id")
            sent.append(
                {
                    **{k: v for k, v in call.items() if k not in ("id", "type", "function")},
                    "id": call_id,
                    "type": "function",
                    "function": {"name": function.get("name") or "", "arguments": arguments},
                }
            )
        if sent:
            wire["tool_calls"] = sent
        return tuple(call["id"] for call in sent)

    def result(
        self, call_id: str, text: str, images: Sequence[ImageRef], *, is_error: bool
    ) -> Body:
        """A tool message. It holds text only; pictures follow in a user message."""
        return (dumps({"role": "tool", "tool_call_id": call_id, "content": text}),)

    def images_after_results(self, images: Sequence[ImageRef]) -> Body | None:
        """One user message with the pictures of all results of a turn."""
        if not images:
            return None
        return self.user(
            ["The pictures that the tools returned, in the order of the calls:", *images]
        )

    def glue(self, before: str | None, kind: str) -> bytes:
        """A comma: the system message always stands first."""
        return b","

    def head(self, opening: Opening) -> bytes:
        """Model, tools, and the messages array up to the system message."""
        tools = b',"tools":' + opening.tools if opening.tools else b""
        return b'{"model":' + dumps(opening.model) + tools + b',"messages":[' + opening.system

    def tail(self, opening: Opening, last: str | None, max_output: int | None) -> bytes:
        """The fields after the messages: streaming, the tier, the output limit."""
        fields: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
        fields |= self.profile.budget.get(opening.effective, {})
        if limit := max_output or self.profile.max_output:
            fields[self.profile.output_field] = limit
        return b"]," + dumps(fields)[1:]

    def parser(self) -> ChatParser:
        """A parser for one streamed reply."""
        return ChatParser()

    def whole(self, data: Any) -> Reply:
        """A ``chat.completion`` object that came in one piece."""
        return reply_from(data)

    def read_system(self, wire: bytes) -> str:
        """The content of the system message."""
        return str(loads(wire)["content"])

    def read_user(self, wire: bytes) -> list[str | ImageRef]:
        """Plain content is one text; a picture is a data URL that holds its blob's hash."""
        content = loads(wire)["content"]
        if isinstance(content, str):
            return [content]
        parts: list[str | ImageRef] = []
        for part in content:
            if part["type"] == "text":
                parts.append(part["text"])
            else:
                media, _, blob = part["image_url"]["url"].removeprefix("data:").partition(";")
                parts.append(ImageRef(blob.rpartition(":")[2], media))
        return parts

    def read_result(self, wire: bytes) -> str:
        """The content of a tool message."""
        return str(loads(wire)["content"])

    def foreign(self, reply: Reply, *, raw: bool) -> tuple[dict[str, Any], dict[str, int]]:
        """Text, calls, and the thinking where this server reads any."""
        if raw:
            return reply.message, {}
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        lost: dict[str, int] = {}
        if reply.thinking and self.profile.reads_thinking:
            message[_THINKING[0]] = reply.thinking
        elif reply.thinks:
            lost["thinking"] = 1
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                    **self.profile.foreign_call,
                }
                for call in reply.calls
            ]
        return message, lost

    def reread(self, wire: bytes, meta: dict[str, Any]) -> Reply:
        """The reply in an assistant entry."""
        message = loads(wire)
        received = meta.get("received", {})
        raw_finish = meta.get("raw_finish") or self.usual_finish[meta["finish"]]
        if (source := received.get("thinking_under")) in received:
            message[source] = received[source]
        for place, call in enumerate(message.get("tool_calls", ())):
            raw = received.get(f"tool_calls.{place}.arguments")
            if raw is not None:
                call["function"]["arguments"] = raw
        return reply_from({"choices": [{"message": message, "finish_reason": raw_finish}]})


def _not_empty(content: Any) -> Any:
    """Content without its empty text parts; None where nothing is left."""
    if isinstance(content, list):
        content = [part for part in content if part.get("type") != "text" or part.get("text")]
    return content or None
