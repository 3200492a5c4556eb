"""A fetch: bounds, failures by name, identity, snapshots, robots.txt."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from deskwork.tools.errors import WebError
from deskwork.tools.web.access import Web, name_of
from deskwork.tools.web.addresses import Allowed, Guard
from deskwork.tools.web.client import Bounds, Client
from deskwork.tools.web.options import WebOptions
from tests.tools.web.server import Reply, Site, article, site


def web_for(running: Site, home: Path, **options: object) -> Web:
    values = {"allow": (running.place,), "per_second": 1000.0, **options}
    return Web(WebOptions(**values), home)  # type: ignore[arg-type]


FAILURES = {
    "/half": (Reply(b"<p>half", declared=5000), "half a download"),
    "/missing": (Reply(b"<h1>Not found</h1>", 404), "not found"),
    "/gone": (Reply(b"", 410), "gone"),
    "/forbidden": (Reply(b"Forbidden", 403), "forbidden"),
    "/login": (Reply(b"", 401), "login needed"),
    "/busy": (Reply(b"", 429, {"Retry-After": "7"}), "throttled"),
    "/broken": (Reply(b"oops", 500), "server error"),
    "/sec": (
        Reply(b"<html><title>SEC.gov | Request Rate Threshold Exceeded</title></html>", 403),
        "throttled",
    ),
    "/undeclared": (
        Reply(b"<html><body>Your Request Originates from an Undeclared Automated Tool", 403),
        "forbidden",
    ),
    "/no-key": (
        Reply(
            b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
            403,
            {"Content-Type": "application/xml"},
        ),
        "not found",
    ),
    "/empty": (Reply(b""), "unreadable"),
    "/choices": (Reply(b"<p>Several", 300), "unreadable"),
    "/large": (Reply(b"x" * 300_000), "too large"),
    "/loop": (Reply(status=301, headers={"Location": "/loop"}), "too many redirects"),
    "/bomb": (
        Reply(gzip.compress(b"a" * 3_000_000), headers={"Content-Encoding": "gzip"}),
        "too large",
    ),
    "/not-gzip": (Reply(b"plain", headers={"Content-Encoding": "gzip"}), "unreadable"),
}


@pytest.mark.parametrize("path", FAILURES)
async def test_each_failure_has_its_name(path: str, tmp_path: Path) -> None:
    reply, kind = FAILURES[path]
    with site({path: reply}) as running:
        web = web_for(running, tmp_path, max_bytes=200_000)
        with pytest.raises(WebError) as caught:
            await web.fetch(running.url(path))
        assert caught.value.kind == kind
        assert str(caught.value).startswith(kind[0].upper() + kind[1:])
        assert path in str(caught.value)
        assert web.snapshots.get(running.url(path), 1e9) is None


async def test_a_chunked_answer_that_breaks_off_is_half_a_download() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<html\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(WebError) as caught:
            await Client(Guard(Allowed.read([place]))).get(f"http://{place}/")
    assert caught.value.kind == "half a download"


async def test_what_is_no_http_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(WebError, match="doesn't speak HTTP"):
            await Client(Guard(Allowed.read([place]))).get(f"http://{place}/")


async def test_a_slow_answer_ends_in_time(tmp_path: Path) -> None:
    never = threading.Event()
    with site({"/slow": Reply(b"late", waits=never)}) as running:
        client = Client(Guard(Allowed.read([running.place])), bounds=Bounds(seconds=0.3))
        with pytest.raises(WebError, match="took longer than") as caught:
            await client.get(running.url("/slow"))
        never.set()
    assert caught.value.kind == "timed out"


async def test_nobody_listens(tmp_path: Path) -> None:
    with site({}) as running:
        pass
    with pytest.raises(WebError, match="can't be reached") as caught:
        await web_for(running, tmp_path).fetch(running.url("/"))
    assert caught.value.kind == "unreachable"


async def test_a_page_is_kept_with_where_when_and_what(tmp_path: Path) -> None:
    pages = {
        "/old": Reply(status=302, headers={"Location": "/new?a=1"}),
        "/new": Reply(article()),
    }
    with site({**pages}) as running:
        web = web_for(running, tmp_path, contact="Ann Example ann@example.com")
        source = await web.fetch(running.url("/old#part"))
        again = await web_for(running, tmp_path).fetch(running.url("/old"))
    assert running.paths() == ["/old", "/new?a=1"]
    assert again == source
    assert again.data == source.data == article()
    assert source.final_url == running.url("/new?a=1")
    assert source.url == running.url("/old")
    assert source.name == "127.0.0.1/new?a=1"
    assert (source.media_type, source.size) == ("text/html", len(article()))
    assert source.retrieved.endswith("Z")
    agent = running.asked[-1][1]["User-Agent"]
    assert agent.startswith("Deskwork/")
    assert agent.endswith("(Ann Example ann@example.com)")


async def test_a_snapshot_is_held_to_the_rules_of_today(tmp_path: Path) -> None:
    with site({"/": Reply(article())}) as running:
        await web_for(running, tmp_path).fetch(running.url("/"))
        with pytest.raises(WebError) as caught:
            await web_for(running, tmp_path, allow=()).fetch(running.url("/"))
    assert caught.value.kind == "refused address"


async def test_packed_pages_are_unpacked(tmp_path: Path) -> None:
    packed = Reply(gzip.compress(article()), headers={"Content-Encoding": "gzip"})
    with site({"/": packed}) as running:
        assert (await web_for(running, tmp_path).fetch(running.url("/"))).data == article()


async def test_an_old_snapshot_is_fetched_anew_and_a_damaged_one_too(tmp_path: Path) -> None:
    with site({"/": Reply(article())}) as running:
        source = await web_for(running, tmp_path).fetch(running.url("/"))
        await web_for(running, tmp_path, max_age=0).fetch(running.url("/"))
        assert len(running.paths()) == 2
        path = tmp_path / "snapshots" / source.sha256[:2] / source.sha256[2:]
        path.write_bytes(b"damaged")
        assert (await web_for(running, tmp_path).fetch(running.url("/"))).data == article()
    assert len(running.paths()) == 3


async def test_side_by_side_one_address_is_fetched_once(tmp_path: Path) -> None:
    with site({"/": Reply(article())}) as running:
        web = web_for(running, tmp_path)
        found = await asyncio.gather(*(web.fetch(running.url("/")) for _ in range(8)))
    assert len({source.sha256 for source in found}) == 1
    assert running.paths() == ["/"]


async def test_robots_txt_is_kept_to(tmp_path: Path) -> None:
    rules = b"User-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /*.pdf$\n"
    pages = {
        "/robots.txt": Reply(rules, headers={"Content-Type": "text/plain"}),
        "/": Reply(article()),
        "/private/open": Reply(article()),
        "/moved": Reply(status=302, headers={"Location": "/private/x"}),
    }
    with site({**pages}) as running:
        web = web_for(running, tmp_path)
        await web.fetch(running.url("/"))
        await web.fetch(running.url("/private/open"))
        for path in ("/private/x", "/a/b.pdf", "/moved"):
            with pytest.raises(WebError) as caught:
                await web.fetch(running.url(path))
            assert caught.value.kind == "robots.txt"
        asked = [path for path, _ in running.asked]
    assert asked.count("/robots.txt") == 1
    assert "/private/x" not in asked


async def test_rules_that_cannot_be_had_allow_nothing(tmp_path: Path) -> None:
    pages = {"/robots.txt": Reply(b"", 503), "/": Reply(article())}
    with site({**pages}) as running, pytest.raises(WebError, match="fetched is unknown"):
        await web_for(running, tmp_path).fetch(running.url("/"))
    assert running.paths() == []


async def test_a_host_that_throttles_is_left_alone(tmp_path: Path) -> None:
    with site({"/": Reply(b"", 429, {"Retry-After": "300"}), "/b": Reply(article())}) as running:
        with pytest.raises(WebError):
            await web_for(running, tmp_path).fetch(running.url("/"))
        with pytest.raises(WebError, match="is not asked again for") as caught:
            await web_for(running, tmp_path).fetch(running.url("/b"))
    assert caught.value.kind == "throttled"
    assert running.paths() == ["/"]


async def test_certificates_are_checked_by_name_though_an_address_is_connected_to(
    tmp_path: Path,
) -> None:
    ours, theirs = contexts(tmp_path, "good.example")
    asked: list[str | None] = []
    theirs.sni_callback = lambda _, name, __: asked.append(name)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=theirs)
    async with server:
        port = server.sockets[0].getsockname()[1]
        allowed = Allowed.read([f"good.example:{port}", f"bad.example:{port}"])
        client = Client(Guard(allowed, resolver), ssl_context=ours)
        assert (await client.get(f"https://good.example:{port}/")).body == b"hi"
        with pytest.raises(WebError, match=r"(?i)hostname mismatch"):
            await client.get(f"https://bad.example:{port}/")
    assert asked == ["good.example", "bad.example"]


def contexts(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A client's and a server's context with a certificate made for this name."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain = folder / "chain.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    chain.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain)
    return ssl.create_default_context(cafile=str(chain)), server


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.example.com/", "example.com"),
        ("https://example.com/a/b.html", "example.com/a/b.html"),
        ("https://example.com/a%20b?q=1&r=%C3%A9", "example.com/a_b?q=1&r=é"),
        ("https://example.com/" + "x" * 300, "example.com/" + "x" * 48 + "…" + "x" * 60),
    ],
)
def test_a_name_is_host_and_path(url: str, name: str) -> None:
    assert name_of(url) == name
