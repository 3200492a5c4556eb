"""The responses protocol: OpenAI's ``/responses``, streamed and without state on the server.

The input is a flat list of items. A reply's output items go back exactly as they came, in their
order, encrypted thinking and unknown keys included. What a server could only look up is left out:
with ``store`` false it keeps nothing, and answers 404 to an item it can't find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.entries import BlobSegment, Body, joined
from deskwork.tasks.profiles import Profile
from deskwork.tasks.protocol import NOTHING_REPAIRED, Encoded, FreshId, ImageRef, Opening
from deskwork.tasks.replies import Finish, Reply, valid_object
from deskwork.tasks.responses_stream import ResponsesParser, reply_from
from deskwork.tools.tool import Tool


class ResponsesCodec:
    """Encodes conversations as items of a response's input."""

    path = "/responses"
    usual_finish: ClassVar[dict[Finish, str]] = {
        "answer": "completed",
        "calls": "completed",
        "length": "max_output_tokens",
    }

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def headers(self, key: str | None) -> dict[str, str]:
        """Bearer authentication and the profile's own headers."""
        return {**self.profile.headers, **({"authorization": f"Bearer {key}"} if key else {})}

    def tools(self, tools: Sequence[Tool]) -> bytes:
        """Function tools in the flat form. Not strict: strict schemas allow no optional field."""
        if not tools:
            return b""
        return dumps(
            [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in tools
            ]
        )

    def system(self, text: str) -> bytes:
        """The instructions' text."""
        return dumps(text)

    def user(self, parts: Sequence[str | ImageRef]) -> Body:
        """A user's message item: plain text where there is nothing else, parts otherwise."""
        opening = b'{"type":"message","role":"user","content":'
        if len(parts) == 1 and isinstance(parts[0], str):
            return (opening + dumps(parts[0]) + b"}",)
        return joined([opening, *_parts(parts), b"}"])

    def assistant(
        self, reply: Reply, fresh_id: FreshId, repaired: Mapping[int, str] = NOTHING_REPAIRED
    ) -> Encoded:
        """The output items as they came, joined by commas; empty when none can be sent back.

        Thinking that can't go back stands in ``received`` under ``output.N``; so do a call's raw
        arguments and its id, where they differ.
        """
        items: list[tuple[int, dict[str, Any]]] = []
        ids: list[str] = []
        received: dict[str, Any] = {}
        for index, item in enumerate(reply.message["output"]):
            if item.get("type") == "reasoning" and not self._self_contained(item):
                received[f"output.{index}"] = item
                continue
            if item.get("type") == "function_call":
                item = _call(item, ids, received, fresh_id, repaired)
            items.append((index, item))
        while items and items[-1][1].get("type") == "reasoning":
            # Refused as "provided without its required following item".
            index, item = items.pop()
            received[f"output.{index}"] = item
        return Encoded(b",".join(dumps(item) for _, item in items), received, tuple(ids))

    def _self_contained(self, item: dict[str, Any]) -> bool:
        """True for thinking that a server can read without having kept it."""
        return bool(
            item.get("encrypted_content") or (item.get("content") and self.profile.reasoning_fields)
        )

    def result(
        self, call_id: str, text: str, images: Sequence[ImageRef], *, is_error: bool
    ) -> Body:
        """A call's output: text, or parts where there are pictures."""
        opening = dumps({"type": "function_call_output", "call_id": call_id})[:-1] + b',"output":'
        if not images:
            return (opening + dumps(text) + b"}",)
        return joined([opening, *_parts([text, *images]), b"}"])

    def images_after_results(self, images: Sequence[ImageRef]) -> Body | None:
        """Nothing: outputs hold their pictures themselves."""
        return None

    def glue(self, before: str | None, kind: str) -> bytes:
        """A comma between items; the instructions stand outside the input."""
        return b"" if before is None else b","

    def head(self, opening: Opening) -> bytes:
        """Model, tools, instructions, and the input's start."""
        tools = b',"tools":' + opening.tools if opening.tools else b""
        return (
            b'{"model":'
            + dumps(opening.model)
            + tools
            + b',"instructions":'
            + opening.system
            + b',"input":['
        )

    def tail(self, opening: Opening, last: str | None, max_output: int | None) -> bytes:
        """The fields after the input: no state, encrypted thinking, streaming, tier, limit."""
        fields: dict[str, Any] = {
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "stream": True,
            **_budget(self.profile.budget.get(opening.effective, {})),
        }
        if limit := max_output or self.profile.max_output:
            fields["max_output_tokens"] = limit
        return b"]," + dumps(fields)[1:]

    def parser(self) -> ResponsesParser:
        """A parser for one streamed reply."""
        return ResponsesParser()

    def whole(self, data: Any) -> Reply:
        """A response object that came in one piece."""
        return reply_from(data)

    def read_system(self, wire: bytes) -> str:
        """The instructions."""
        return str(loads(wire))

    def read_user(self, wire: bytes) -> list[str | ImageRef]:
        """The texts and pictures of a user's message item."""
        content = loads(wire)["content"]
        return [content] if isinstance(content, str) else [_read(part) for part in content]

    def read_result(self, wire: bytes) -> str:
        """The text of a call's output."""
        output = loads(wire)["output"]
        if isinstance(output, str):
            return output
        return "".join(part["text"] for part in output if part["type"] == "input_text")

    def foreign(self, reply: Reply, *, raw: bool) -> tuple[dict[str, Any], dict[str, int]]:
        """Text and calls; thinking is encrypted by its maker, so only its like can read it."""
        if raw:
            return reply.message, {}
        items: list[dict[str, Any]] = []
        if reply.text:
            text = {"type": "output_text", "text": reply.text, "annotations": []}
            items.append({"type": "message", "role": "assistant", "content": [text]})
        for call in reply.calls:
            called = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
            items.append({"type": "function_call", **called})
        return {"output": items}, {"thinking": 1} if reply.thinks else {}

    def reread(self, wire: bytes, meta: dict[str, Any]) -> Reply:
        """The reply in an assistant entry; arguments that were no object come back as text."""
        items = loads(b"[" + wire + b"]")
        raw_finish = meta.get("raw_finish") or self.usual_finish[meta["finish"]]
        received = meta.get("received", {})
        calls = [item for item in items if item.get("type") == "function_call"]
        for place, item in enumerate(calls):
            item["arguments"] = received.get(f"calls.{place}.arguments", item["arguments"])
        ending: dict[str, Any] = {"status": raw_finish}
        if raw_finish != "completed":
            ending = {"status": "incomplete", "incomplete_details": {"reason": raw_finish}}
        return reply_from({"output": items, **ending})


def _call(
    item: dict[str, Any],
    ids: list[str],
    received: dict[str, Any],
    fresh_id: FreshId,
    repaired: Mapping[int, str],
) -> dict[str, Any]:
    """The call with an id of its own and an object's text as arguments; ``ids`` takes the id."""
    place = len(ids)
    call_id = fresh_id(place, item.get("call_id") or "", ids)
    ids.append(call_id)
    given = item.get("arguments")
    arguments = repaired.get(place) or valid_object(given)
    if call_id != item.get("call_id"):
        received[f"calls.{place}.call_id"] = item.get("call_id")
    if arguments != given:
        received[f"calls.{place}.arguments"] = given
    return {**item, "call_id": call_id, "arguments": arguments}


def _budget(fields: dict[str, Any]) -> dict[str, Any]:
    """A tier's fields with the effort where this protocol has it, and thinking summed up."""
    fields = dict(fields)
    effort = fields.pop("reasoning_effort", None)
    reasoning = {**({"effort": effort} if effort else {}), **fields.pop("reasoning", {})}
    return {**({"reasoning": {**reasoning, "summary": "auto"}} if reasoning else {}), **fields}


def _read(part: dict[str, Any]) -> str | ImageRef:
    if part["type"] == "input_text":
        return str(part["text"])
    media, _, blob = part["image_url"].removeprefix("data:").partition(";")
    return ImageRef(blob.rpartition(":")[2], media)


def _parts(parts: Sequence[str | ImageRef]) -> Body:
    body: list[bytes | BlobSegment] = [b"["]
    for index, part in enumerate(parts):
        if index:
            body.append(b",")
        if isinstance(part, str):
            body.append(dumps({"type": "input_text", "text": part}))
        else:
            opening = f'{{"type":"input_image","image_url":"data:{part.media_type};base64,'
            body += [opening.encode(), BlobSegment(part.sha256), b'","detail":"auto"}']
    return (*body, b"]")
