"""Server-sent events, decoded from any split of the bytes.

Follows the event stream rules of the HTML standard: lines end in LF, CR LF or CR; a line that
begins with a colon is a comment (a life sign, nothing more); an empty line ends an event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deskwork.tasks.encoding import loads
from deskwork.tasks.model_errors import BrokenStream


@dataclass(frozen=True)
class Event:
    """One event: its name (``message`` when the server gave none) and its data."""

    name: str
    data: str

    def json(self) -> dict[str, Any]:
        """The data as a JSON object. Raises `BrokenStream` for anything else."""
        try:
            value = loads(self.data)
        except ValueError:
            raise BrokenStream(f"The stream held no JSON: {self.data[:80]!r}.") from None
        if not isinstance(value, dict):
            raise BrokenStream(f"The stream held {self.data[:80]!r} where an object was due.")
        return value


@dataclass
class EventDecoder:
    """Feed it bytes as they come; it returns the events that became complete."""

    _rest: bytes = b""
    _name: str = ""
    _begun: bool = False
    _data: list[str] = field(default_factory=list)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events completed by these bytes."""
        buffer = self._rest + chunk
        if not self._begun:
            if b"\xef\xbb\xbf".startswith(buffer[:3]) and len(buffer) < 3:
                self._rest = buffer
                return []
            self._begun = True
            buffer = buffer.removeprefix(b"\xef\xbb\xbf")
        # A CR at the very end may be half of a CR LF: it waits for the next bytes.
        held = b""
        if buffer.endswith(b"\r"):
            buffer, held = buffer[:-1], b"\r"
        lines = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + held
        return [event for line in lines if (event := self._line(line))]

    def close(self) -> list[Event]:
        """The last event, when the stream ended without its closing empty line."""
        events = self.feed(b"\n\n") if self._rest or self._data else []
        self._rest = b""
        return events

    def _line(self, line: bytes) -> Event | None:
        if not line:
            event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return None
