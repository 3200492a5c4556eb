"""Mail by SMTP, with the report attached."""

from __future__ import annotations

import mimetypes
import smtplib
import ssl
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime

from deskwork.tasks.delivery.parcel import NotReached, Parcel, Refused, Unknown
from deskwork.tasks.delivery.targets import Mail

SECONDS = 60.0
"""So long the server may take for one answer."""
_TYPES = {
    "md": "text/markdown",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def mail_of(target: Mail, parcel: Parcel) -> EmailMessage:
    """The message. Its Message-ID follows from the delivery, so that a reader sees one twice."""
    message = EmailMessage()
    message["From"] = target.sender
    message["To"] = ", ".join(target.to)
    message["Subject"] = " ".join((target.subject or parcel.title).split())
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = f"<{parcel.key}@{target.sender.rpartition('@')[2]}>"
    message.set_content(parcel.text + "\n")
    for path in parcel.of(target.attach):
        suffix = path.suffix[1:]
        kind = _TYPES.get(suffix) or mimetypes.guess_type(path.name)[0] or ""
        main, _, sub = (kind or "application/octet-stream").partition("/")
        message.add_attachment(
            path.read_bytes(),
            maintype=main,
            subtype=sub,
            filename=f"{parcel.job}.{suffix}",
            params={"charset": "utf-8"} if main == "text" else None,
        )
    return message


def send_mail(target: Mail, parcel: Parcel, password: str) -> list[str]:
    """Send it; the addresses that the server refused while it took the others.

    Blocks; call it in a thread. Raises `NotReached`, `Refused`, or `Unknown` when the connection
    was lost while the server took the message.
    """
    try:
        message = mail_of(target, parcel)
    except OSError as error:
        raise Refused(
            f"The report can't be read: {error.filename}: {error.strerror or error}.",
            "Mend the folder of the report.",
        ) from None
    try:
        server = _opened(target, password)
    except smtplib.SMTPAuthenticationError as error:
        raise Refused(
            f"{target.place} refused the login of {target.user!r}: {_said(error)}.",
            f"Check `user`, and the password in {target.password}.",
        ) from None
    except (smtplib.SMTPNotSupportedError, ssl.SSLError) as error:
        raise Refused(
            f"No safe connection to {target.place}: {error}.",
            "Check `security` and `port`: 587 with starttls, 465 with tls.",
        ) from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotReached(f"{target.place} can't be reached: {_said(error)}.") from None
    try:
        refused = server.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        told = "; ".join(
            f"{to}: {_text(code, why)}" for to, (code, why) in error.recipients.items()
        )
        raise _refusal(target, told, next(iter(error.recipients.values()))[0]) from None
    except smtplib.SMTPNotSupportedError as error:
        raise Refused(
            f"{target.place} can't take the mail: {error}.", "Write addresses in plain letters."
        ) from None
    except smtplib.SMTPResponseException as error:
        raise _refusal(target, _said(error), error.smtp_code) from None
    except (smtplib.SMTPException, OSError) as error:
        raise Unknown(
            f"The connection to {target.place} was lost while the mail was sent: {_said(error)}."
        ) from None
    finally:
        _quit(server)
    return [f"{to}: {_text(code, why)}" for to, (code, why) in refused.items()]


def _opened(target: Mail, password: str) -> smtplib.SMTP:
    host, _, port = target.place.rpartition(":")
    context = ssl.create_default_context()
    server: smtplib.SMTP
    if target.security == "tls":
        server = smtplib.SMTP_SSL(host, int(port), timeout=SECONDS, context=context)
    else:
        server = smtplib.SMTP(host, int(port), timeout=SECONDS)
    try:
        if target.security == "starttls":
            server.starttls(context=context)
        if target.user:
            server.login(target.user, password)
    except BaseException:
        server.close()
        raise
    return server


def _quit(server: smtplib.SMTP) -> None:
    try:
        server.quit()
    except (smtplib.SMTPException, OSError):
        server.close()


def _refusal(target: Mail, told: str, code: int) -> NotReached | Refused:
    """A refusal: for now (4xx), or for good."""
    if 400 <= code < 500:
        return NotReached(f"{target.place} did not take the mail for now: {told}.")
    return Refused(f"{target.place} refused the mail: {told}.", "Check `to` and `from`.")


def _said(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _text(error.smtp_code, error.smtp_error)
    return " ".join(str(error).split()) or type(error).__name__


def _text(code: int, why: bytes | str) -> str:
    text = why.decode("utf-8", "replace") if isinstance(why, bytes) else why
    return f"{code} {' '.join(text.split())}"
