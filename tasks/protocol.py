"""What a protocol must do: encode each part of a conversation once, and read a streamed reply.

A codec keeps no state about a conversation. What it encodes is frozen in the journal; a request
is those bytes joined, so that request n stands in request n+1 to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from deskwork.tasks.entries import Body
from deskwork.tasks.profiles import Profile, Tier
from deskwork.tasks.replies import Finish, Reply
from deskwork.tasks.sse import Event
from deskwork.tools.tool import Tool

FreshId = Callable[[int, str, Sequence[str]], str]
"""Gives the id that a call bears: of its place, its own id, and the ids before it in the reply."""
NOTHING_REPAIRED: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class ImageRef:
    """A picture in the blob store, with the media type its bytes were found to have."""

    sha256: str
    media_type: str


@dataclass(frozen=True)
class Opening:
    """The fixed part of a conversation's requests. ``tools`` and ``system`` are encoded.

    ``effective`` names the budget that is sent for the tier, empty for none.
    """

    model: str
    tier: Tier
    tools: bytes
    system: bytes
    effective: str


@dataclass(frozen=True)
class Encoded:
    """A reply as it goes back to the server.

    ``received`` holds the fields that differ from what the server sent; ``call_ids`` the ids
    that the calls bear on the wire, in order.
    """

    body: bytes
    received: dict[str, Any]
    call_ids: tuple[str, ...]


class ReplyParser(Protocol):
    """Joins the events of one streamed reply."""

    def feed(self, event: Event) -> None:
        """Take one event. Raises a `ModelError` for an error sent inside the stream."""

    def result(self) -> Reply:
        """The reply. Raises `BrokenStream` when the stream ended before the reply did."""


class Codec(Protocol):
    """One protocol spoken to one kind of server."""

    profile: Profile
    path: str
    usual_finish: ClassVar[dict[Finish, str]]
    """The server's usual word for each end of a reply; only another one is recorded."""

    def headers(self, key: str | None) -> dict[str, str]:
        """The request headers; the key only ever stands here."""

    def tools(self, tools: Sequence[Tool]) -> bytes:
        """The tools as a JSON array; empty for none."""

    def system(self, text: str) -> bytes:
        """The system text as it stands in requests."""

    def user(self, parts: Sequence[str | ImageRef]) -> Body:
        """A user's text and pictures, in order."""

    def assistant(
        self, reply: Reply, fresh_id: FreshId, repaired: Mapping[int, str] = NOTHING_REPAIRED
    ) -> Encoded:
        """A reply, to be sent back.

        ``repaired`` gives by place the arguments that go back in the place of those received.
        """

    def result(
        self, call_id: str, text: str, images: Sequence[ImageRef], *, is_error: bool
    ) -> Body:
        """A tool's result."""

    def images_after_results(self, images: Sequence[ImageRef]) -> Body | None:
        """The message that carries tools' pictures, where results can't hold them."""

    def glue(self, before: str | None, kind: str) -> bytes:
        """The bytes between two items of the messages array; kinds as in the journal."""

    def head(self, opening: Opening) -> bytes:
        """The request up to its first message."""

    def tail(self, opening: Opening, last: str | None, max_output: int | None) -> bytes:
        """The request after its last message."""

    def parser(self) -> ReplyParser:
        """A parser for one reply."""

    def whole(self, data: Any) -> Reply:
        """A reply that came in one piece, from a server that doesn't stream."""

    def read_system(self, wire: bytes) -> str:
        """The text of a system entry."""

    def read_user(self, wire: bytes) -> list[str | ImageRef]:
        """The texts and pictures of a user entry, as `entries.readable` gives it."""

    def read_result(self, wire: bytes) -> str:
        """The text of a tool entry, as `entries.readable` gives it."""

    def foreign(self, reply: Reply, *, raw: bool) -> tuple[dict[str, Any], dict[str, int]]:
        """A reply of another model as a message that `assistant` takes, and what it loses.

        ``raw`` tells that the same kind of server made it, so that its own message may be kept.
        """

    def reread(self, wire: bytes, meta: dict[str, Any]) -> Reply:
        """The reply in an assistant entry; calls bear their wire ids and raw arguments."""


def open_codec(profile: Profile) -> Codec:
    """The codec for a profile's protocol."""
    if profile.protocol == "messages":
        from deskwork.tasks.messages import MessagesCodec

        return MessagesCodec(profile)
    if profile.protocol == "responses":
        from deskwork.tasks.responses import ResponsesCodec

        return ResponsesCodec(profile)
    from deskwork.tasks.chat import ChatCodec

    return ChatCodec(profile)
