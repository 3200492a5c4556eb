"""Messages (EML): headers, the body and the attachments, by the standard library."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

from deskwork.tools.documents import Document, Page, paginate
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.parts import read_parts
from deskwork.tools.readers.source import Source

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def read(source: Source) -> Document:
    """The message's pages, then those of its attachments. Nothing that it links to is fetched."""
    message = _message(source)
    headers = {name: value for name in _HEADERS if (value := _header(message, name))}
    body, html_only = _body(message, source)
    if not headers and not body:
        raise BadFile(f"{source.name} is empty: it holds no message.")
    return assembled(source, "eml", headers, body, inner_files(source), html_only)


def assembled(
    source: Source,
    kind: str,
    headers: dict[str, str],
    body: str,
    files: Iterator[tuple[str, bytes]],
    html_only: bool,
) -> Document:
    """The document of a message of either kind."""
    head = "\n".join(f"{name}: {value}" for name, value in headers.items())
    texts = paginate([head, "", *body.split("\n\n")])
    pages = [Page(number, text.strip("\n")) for number, text in enumerate(texts, 1)]
    parts = read_parts(source, files, first=len(pages) + 1)
    metadata: dict[str, Any] = {name.lower(): value for name, value in headers.items()}
    metadata |= {"attachments": parts.names, "parts": parts.rows}
    if html_only:
        metadata["body"] = "html"
    return Document(source.name, kind, (*pages, *parts.pages), metadata, tuple(parts.warnings))


def inner_files(source: Source) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of everything that is attached, pictures in the text included."""
    message = _message(source)
    body = {id(part) for part in _body_parts(message)}
    number = 0
    for part in _leaves(message, 0):
        if id(part) in body:
            continue
        number += 1
        name = part.get_filename() or f"attachment {number}"
        if part.get_content_type() == "message/rfc822":
            inner = part.get_payload()
            first: Any = inner[0] if isinstance(inner, list) and inner else None
            data = first.as_bytes() if first is not None else b""
            name = part.get_filename() or f"message {number}.eml"
        else:
            decoded = part.get_payload(decode=True)
            data = decoded if isinstance(decoded, bytes) else b""
        yield " ".join(str(name).replace("/", "_").split()), data


def _message(source: Source) -> EmailMessage:
    # Mail programs write a From line before the headers when they keep messages in one file.
    return email.message_from_bytes(source.data, policy=email.policy.default)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except Exception:  # noqa: BLE001  # its parser of addresses raises what it likes on broken ones
        raw = dict(message.raw_items()).get(name, "")
        return " ".join(str(raw).split())


def _leaves(message: Any, depth: int) -> Iterator[EmailMessage]:
    """The parts that hold content, not going into attached messages."""
    if message.is_multipart() and message.get_content_type() != "message/rfc822" and depth < 50:
        for part in message.get_payload():
            yield from _leaves(part, depth + 1)
    else:
        yield message


def _body_parts(message: EmailMessage) -> list[EmailMessage]:
    """The texts that are the message itself, in both forms it may have."""
    found = []
    for part in _leaves(message, 0):
        attached = part.get_content_disposition() == "attachment" or part.get_filename()
        if not attached and part.get_content_type() in ("text/plain", "text/html"):
            found.append(part)
    return found


def _body(message: EmailMessage, source: Source) -> tuple[str, bool]:
    """The plain form where there is one, else the text of the HTML form."""
    parts = _body_parts(message)
    plain = [_text(part) for part in parts if part.get_content_type() == "text/plain"]
    joined = "\n\n".join(text.strip() for text in plain if text.strip())
    if joined:
        return joined, False
    pages = [page_text for part in parts for page_text in html_text(source, _bytes(part))]
    return "\n\n".join(pages), bool(pages)


def html_text(source: Source, data: bytes) -> list[str]:
    """The pages of an HTML body as text, or none when it holds none."""
    from deskwork.tools.readers import web

    try:
        return [page.text for page in web.read(source.inner("body.html", data)).pages]
    except Exception:  # noqa: BLE001  # a broken body is no reason to lose the attachments
        return []


def _bytes(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    if not charset:
        return data
    try:  # lxml looks for the encoding in the page, where mail has it in the header
        return data.decode(charset, "replace").encode("utf-8-sig")
    except LookupError:
        return data


def _text(part: EmailMessage) -> str:
    from deskwork.tools.readers.encodings import decode

    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    try:
        text = data.decode(charset) if charset and charset != "us-ascii" else decode(data)[0]
    except (LookupError, UnicodeDecodeError):
        text = decode(data)[0]
    return text.replace("\r\n", "\n")
