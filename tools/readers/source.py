"""What a reader gets, and the bounds that every reader keeps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deskwork.tools.errors import BadFile

MAX_DEPTH = 4  # files in files: a message in a ZIP in a message is three


@dataclass
class Budget:
    """What the files inside one file may still come to, however they are nested."""

    files: int = 10_000
    bytes: int = 1_000_000_000

    def take(self, size: int) -> bool:
        """Whether another inner file of this size may be opened."""
        self.files -= 1
        self.bytes -= size
        return self.files >= 0 and self.bytes >= 0


@dataclass(frozen=True)
class Source:
    """A file to read: ``name`` is for messages, ``data`` the whole file.

    ``passwords`` are tried in order after none at all. ``depth`` is how many files it lies in.
    ``marks`` are quotes whose places a page's picture shows.
    """

    name: str
    kind: str
    data: bytes
    passwords: tuple[str, ...] = ()
    ocr: bool = False
    depth: int = 0
    marks: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget, compare=False)

    def inner(self, name: str, data: bytes) -> Source:
        """The source of a file that lies in this one; its kind is not yet told."""
        return replace(self, name=name, kind="", data=data, depth=self.depth + 1)


def locked(source: Source) -> BadFile:
    """The error of a file that opens with none of the passwords."""
    if source.passwords:
        count = len(source.passwords)
        given = "the password given is" if count == 1 else f"the {count} passwords given are"
        return BadFile(f"{source.name} is locked: {given} wrong.")
    return BadFile(
        f"{source.name} is locked: it needs a password.",
        "Put it into `passwords` in deskwork.toml, or give `deskwork read` its --password.",
    )
