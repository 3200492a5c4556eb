"""Small questions to an endpoint: does it call tools, stream, think by budget, keep thinking, see?

Each is a request or two, paid for; together they cost a few thousand tokens. They say before a
long run what would go wrong silently in the middle of it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

from deskwork.tasks.blobs import Blobs
from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.entries import body_bytes
from deskwork.tasks.profiles import TIERS
from deskwork.tasks.protocol import ImageRef, Opening
from deskwork.tasks.replies import Reply, ToolCall
from deskwork.tasks.settings import Settings
from deskwork.tools.errors import DeskworkError
from deskwork.tools.tool import Tool, ToolResult, tool


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. ``mend`` is what to do, where something is wrong."""

    name: str
    ok: bool
    found: str
    mend: str = ""


WORDS = 2000
"""The length of the made-up thinking whose tokens must show in the next request's count."""
_TASK = "Which is larger, 17 * 23 or 19 * 21? Answer with the product alone."


@tool(repeatable=True)
def report_number(number: int) -> ToolResult:
    """Report a number."""
    return ToolResult(text=str(number))


class Probes:
    """The questions to one endpoint. A request that fails is a finding, not an error."""

    def __init__(self, endpoint: Endpoint, settings: Settings, blobs: Blobs) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._blobs = blobs
        self._codec = endpoint.codec
        self._nearest = settings.schedule.missing == "nearest"

    async def all(self) -> list[Check]:
        """Every check of the model, the most basic first; the rest is left out if that fails."""
        first = await self._tools()
        if not first[0].ok:
            return first
        budgets = await self._budgets()
        return [*first, *budgets, await self._thinking_kept(), await self._pictures()]

    async def _ask(
        self,
        items: Sequence[tuple[str, bytes]],
        system: str = "You are being tested. Answer briefly.",
        tools: Sequence[Tool] = (),
        level: str | None = None,
    ) -> Reply:
        """One request of these items, (kind, bytes) as in a journal, at a budget's level."""
        codec = self._codec
        if level is None:
            level = codec.profile.effective("low", nearest=True)
        opening = Opening(
            self._settings.model, "low", codec.tools(tools), codec.system(system), level
        )
        body, last = [codec.head(opening)], None
        for kind, wire in items:
            body += [codec.glue(last, kind), wire]
            last = kind
        return await self._endpoint.ask([*body, codec.tail(opening, last, None)])

    def _user(self, *parts: str | ImageRef) -> tuple[str, bytes]:
        return "user", body_bytes(self._codec.user(parts), self._blobs)

    async def _tools(self) -> list[Check]:
        settings = self._settings
        system = "You are being tested. Call the tool with the number 7."
        try:
            reply = await self._ask([self._user("Report the number 7.")], system, [report_number])
        except DeskworkError as error:
            return [Check("model", False, error.message, error.hint or "Try again later.")]
        said = "calls tools" if reply.calls else "answered without calling the tool it was asked to"
        thinking = "thinks" if reply.thinks else "shows no thinking"
        name = f"{settings.model} at {settings.model_url} ({settings.profile.name})"
        streams = self._endpoint.streams
        checks = [Check("model", True, f"{name} {said}, {thinking}")]
        if not reply.calls:
            checks.append(
                Check("tools", False, "no call came", "Serve the model with its tool parser on.")
            )
        return [
            *checks,
            Check("streaming", True, "streams" if streams else "answers in one piece, late"),
        ]

    async def _budgets(self) -> list[Check]:
        """Each tier is taken, and the largest makes more thinking than the smallest."""
        checks, thought = [], {}
        profile = self._codec.profile
        for tier in TIERS:
            if tier not in profile.budget:
                instead = profile.effective(tier, nearest=True) or "none"
                found = f"this model lacks it; {instead} could stand in"
                mend = "" if self._nearest else 'Allow it by missing = "nearest" under [budgets].'
                checks.append(Check(f"budget {tier}", True, found, mend))
                continue
            try:
                reply = await self._ask([self._user(_TASK)], level=tier)
            except DeskworkError as error:
                checks.append(Check(f"budget {tier}", False, error.message, error.hint))
                continue
            tokens, of = _effort(reply)
            thought[tier] = tokens
            checks.append(Check(f"budget {tier}", True, f"taken; {tokens} tokens of {of}"))
        if {"low", "max"} <= set(thought) and thought["low"] == thought["max"]:
            checks.append(
                Check(
                    "budgets",
                    False,
                    f"the budget has no effect: {thought['low']} tokens at low and at max",
                    "Check DESKWORK_PROFILE: servers ignore a field that they don't know.",
                )
            )
        return checks

    async def _thinking_kept(self) -> Check:
        """Two requests that differ in earlier thinking alone must differ in their tokens."""
        profile = self._codec.profile
        if profile.protocol == "chat" and not profile.reads_thinking:
            found = f"servers of the profile {profile.name} take no earlier thinking back"
            return Check("thinking kept", True, found)
        if profile.protocol != "chat":
            found = "bound by signature or encryption: the server refuses what it can't read"
            return Check("thinking kept", True, found)
        try:
            without, whole = [await self._input(words) for words in (0, WORDS)]
        except DeskworkError as error:
            return Check("thinking kept", False, error.message, error.hint)
        if without is None or whole is None:
            return Check("thinking kept", False, "not known: the server counts no tokens")
        if whole - without < WORDS // 2:
            return Check(
                "thinking kept",
                False,
                f"thinking history is not rendered: {WORDS} words of it made {whole - without} "
                "tokens",
                "The server or its chat template drops earlier thinking without a word: set "
                "another DESKWORK_PROFILE or a template that keeps it.",
            )
        return Check(
            "thinking kept",
            True,
            f"{WORDS} words of it sent back were counted as {whole - without} tokens",
        )

    async def _input(self, words: int) -> int | None:
        """The input tokens of a tool's turn whose thinking has so many words."""
        call = ToolCall("call_1", "report_number", '{"number": 7}')
        thinking = " ".join(f"word{number % 97}" for number in range(words))
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
            ],
        }
        if thinking:
            message["reasoning_content"] = thinking
        reply = Reply(message, "", (call,), "calls", "tool_calls", thinking=thinking)
        said = self._codec.assistant(reply, lambda place, call_id, before: call_id)
        result = self._codec.result(said.call_ids[0], "7", (), is_error=False)
        items = [
            self._user("Report the number 7, then say done."),
            ("assistant", said.body),
            ("tool", body_bytes(result, self._blobs)),
        ]
        asked = await self._ask(items, tools=[report_number])
        return asked.usage.input if asked.usage else None

    async def _pictures(self) -> Check:
        data = io.BytesIO()
        Image.new("RGB", (64, 64), (220, 20, 20)).save(data, "PNG")
        picture = ImageRef(self._blobs.put(data.getvalue()), "image/png")
        try:
            reply = await self._ask([self._user(picture, "Which colour is this? One word.")])
        except DeskworkError as error:
            return Check("pictures", False, error.message, "Give it text alone, or another model.")
        if "red" in reply.text.lower():
            return Check("pictures", True, "sees them")
        return Check(
            "pictures",
            False,
            f"takes them, but said {reply.text.strip()[:60]!r} of a red square",
            "Don't rely on what it says of pictures.",
        )


def _effort(reply: Reply) -> tuple[int, str]:
    """The tokens that a reply cost the model, as finely as its server counts."""
    usage = reply.usage
    if usage and usage.reasoning is not None:
        return usage.reasoning, "thought"
    if usage and usage.output is not None:
        return usage.output, "output"
    return (len(reply.thinking) + len(reply.text)) // 4, "text"
