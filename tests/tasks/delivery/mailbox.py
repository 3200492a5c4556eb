"""A mail server on loopback that keeps what it takes, and fails as a test tells it."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PASSWORD = "open sesame"


@dataclass
class Mailbox:
    """What came. ``on_data`` answers each mail, with None for the usual answer."""

    on_data: Callable[[int], str | None] = lambda number: None
    refused: str = ""
    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    secure: list[bool] = field(default_factory=list)
    came: threading.Event = field(default_factory=threading.Event)

    async def handle_RCPT(  # noqa: N802 - named by the library
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address == self.refused:
            return "550 No such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        parsed = BytesParser(policy=default).parsebytes(envelope.content)
        assert isinstance(parsed, EmailMessage)
        self.mails.append(parsed)
        self.recipients.append(envelope.rcpt_tos)
        self.secure.append(session.ssl is not None)
        self.came.set()
        answer = self.on_data(len(self.mails))
        if answer == "hang up":
            server.transport.abort()
        return answer or "250 OK"

    def _login(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> Any:
        self.logins.append(data.login.decode())
        return AuthResult(success=data.password.decode() == PASSWORD, handled=False)


class _AnyPort(Controller):
    """The library's own connects to port 0 at its start."""

    def _trigger_server(self) -> None:
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def mailbox(
    on_data: Callable[[int], str | None] = lambda number: None,
    *,
    refused: str = "",
    certificate: Path | None = None,
) -> Iterator[Mailbox]:
    """A running server; with a certificate it wants STARTTLS and a login."""
    box = Mailbox(on_data, refused)
    more: dict[str, Any] = {}
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        more = {"tls_context": context, "require_starttls": True, "auth_required": True}
        more["authenticator"] = box._login
    controller = _AnyPort(box, hostname="127.0.0.1", port=0, **more)
    controller.start()
    try:
        box.port = controller.port
        yield box
    finally:
        controller.stop()


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(place, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    plain = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + plain)
    return path
