"""RTF by an own small parser: text, paragraphs and table cells, in the document's code pages."""

from __future__ import annotations

import codecs
import re

from deskwork.tools.documents import Document, Page, paginate
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.source import Source

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+"
    rb"|([^\\{}\r\n]+)|(.)",
    re.S,
)
# Groups that hold no text of the document. Deleted text (``deleted``) is handled apart.
_SKIPPED = frozenset(
    b"fonttbl colortbl stylesheet info pict object themedata datastore listtable xmlnstbl rsidtbl "
    b"listoverridetable generator latentstyles fldinst nonshppict mmathPr wgrffmtfilter".split()
)
_SIGNS = {
    b"par": "\n", b"line": "\n", b"sect": "\n", b"page": "\n", b"tab": "\t", b"cell": " | ",
    b"row": "\n", b"emdash": "—", b"endash": "–", b"bullet": "•", b"lquote": "‘",
    b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”", b"emspace": " ", b"enspace": " ",
}  # fmt: skip
_SYMBOLS = {b"~": "\u00a0", b"_": "-", b"-": "", b"\n": "\n", b"\r": "\n"}
_MAX_DEPTH = 1_000


def read(source: Source) -> Document:
    """Pages of bounded length. Deleted text that is still tracked is left out."""
    text = plain_text(source.data)
    if not text.strip():
        raise BadFile(f"{source.name} is empty: it holds no text.")
    texts = paginate([line for line in text.split("\n") if line.strip()])
    return Document(
        source.name, "rtf", tuple(Page(number, text) for number, text in enumerate(texts, 1))
    )


def plain_text(data: bytes) -> str:
    """The text of RTF bytes; any bytes give some text and never raise."""
    out: list[str] = []
    page = "cp1252"
    # For each open group: whether its text is left out, and how many characters follow each \\u
    # for readers that don't know it.
    stack: list[tuple[bool, int]] = []
    skipped, after = False, 1
    to_skip = 0
    starred = False
    pending = bytearray()  # bytes of a code page, where one character may take two of them

    def flush() -> None:
        if pending:
            out.append(pending.decode(page, "replace"))
            pending.clear()

    for token in _TOKEN.finditer(data):
        word, number, code, symbol, brace, text, _ = token.groups()
        if code is None:
            flush()
        if brace == b"{":
            if len(stack) < _MAX_DEPTH:
                stack.append((skipped, after))
        elif brace == b"}":
            skipped, after = stack.pop() if stack else (False, 1)
            to_skip = 0
        elif symbol is not None:
            if symbol == b"*":
                starred = True
                continue
            if not skipped:
                out.append(_SYMBOLS.get(symbol, symbol.decode("latin-1")))
        elif word is not None:
            if starred or word in _SKIPPED or (word == b"deleted" and number != b"0"):
                skipped = True
            elif word == b"ansicpg" and number:
                page = _known(f"cp{int(number)}")
            elif word == b"uc" and number:
                after = max(0, min(int(number), 10))
            elif word == b"u" and number and not skipped:
                out.append(chr(int(number) % 65_536))
                to_skip = after
            elif word in _SIGNS and not skipped:
                out.append(_SIGNS[word])
        elif code is not None:
            if to_skip:
                to_skip -= 1
            elif not skipped:
                pending += bytes.fromhex(code.decode())
        elif text is not None and not skipped:
            out.append(text[to_skip:].decode(page, "replace"))
            to_skip = max(0, to_skip - len(text))
        starred = False
    flush()
    # Characters beyond the first 65,536 come as two halves.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _known(page: str) -> str:
    try:
        codecs.lookup(page)
    except LookupError:
        return "cp1252"
    return page
