"""Outlook's messages (MSG): headers, the body and the attachments, by python-oxmsg."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from deskwork.tools.documents import Document
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.mail import assembled, html_text
from deskwork.tools.readers.source import Source


def read(source: Source) -> Document:
    """The message's pages, then those of its attachments."""
    message = _message(source)
    sent = message.sent_date
    headers = {
        "From": message.sender or "",
        "To": ", ".join(
            f"{person.name} <{person.email_address}>" if person.name else person.email_address
            for person in message.recipients
        ),
        "Date": sent.isoformat(" ") if sent else "",
        "Subject": message.subject or "",
    }
    body = (message.body or "").replace("\r\n", "\n").strip()
    html = message.html_body
    html_only = not body and bool(html)
    if html_only and html:
        body = "\n\n".join(html_text(source, html.encode("utf-8-sig")))
    found = {name: " ".join(value.split()) for name, value in headers.items() if value}
    if not found and not body:
        raise BadFile(f"{source.name} is empty: it holds no message.")
    return assembled(source, "msg", found, body, inner_files(source), html_only)


def inner_files(source: Source) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every attachment; attached messages, which aren't files, have no bytes."""
    for number, attachment in enumerate(_message(source).attachments, 1):
        name = attachment.file_name or f"attachment {number}"
        yield " ".join(name.replace("/", "_").split()), attachment.file_bytes or b""


def _message(source: Source) -> Any:
    import oxmsg

    return oxmsg.Message.load(io.BytesIO(source.data))
