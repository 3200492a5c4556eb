"""No address of this machine's network is reached, however it is written and whoever says it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from deskwork.tools.errors import WebError, WrongUse
from deskwork.tools.web.access import Web
from deskwork.tools.web.addresses import Allowed, Guard
from deskwork.tools.web.client import Client
from deskwork.tools.web.options import WebOptions
from tests.tools.web.server import Fence, Reply, site

ATTACKS = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0/",
    "http://0.0.0.0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://[::5efe:7f00:1]/",
    "http://[100::1]/",
    "http://198.18.0.1/",
    "http://203.0.113.7/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://a.localhost/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://printer.local/",
    "http://user:secret@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com:22/",
    "http://example.com:6379/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:6379/_INFO",
    "javascript:alert(1)",
    "data:text/html,hi",
    "//127.0.0.1/",
    "http:127.0.0.1/",
    "http:///etc/passwd",
    "http://127.0.0.1\\@example.com/",
    "http://１２７.０.０.１/",
    "http://ⓛocalhost/",
]


async def nowhere(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{host} was looked up")


@pytest.mark.parametrize("url", ATTACKS)
async def test_it_is_refused_before_anything_is_looked_up(url: str, tmp_path: Path) -> None:
    fence = Fence()
    web = Web(WebOptions(per_second=1000), tmp_path, resolver=nowhere, network=fence)
    with pytest.raises(WebError) as caught:
        await web.fetch(url)
    assert caught.value.kind in ("refused address", "bad address")
    assert fence.others == []


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["::1"],
        ["fe80::1%eth0"],
        ["::ffff:169.254.169.254"],
        ["93.184.216.34", "127.0.0.1"],
        ["100.64.3.4"],
    ],
)
async def test_a_name_that_leads_inside_is_refused(answers: list[str], tmp_path: Path) -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return answers

    fence = Fence()
    web = Web(WebOptions(per_second=1000), tmp_path, resolver=resolver, network=fence)
    with pytest.raises(WebError, match="it leads to") as caught:
        await web.fetch("http://innocent.example/")
    assert caught.value.kind == "refused address"
    assert fence.others == []


async def test_a_name_that_changes_its_answer_is_looked_up_anew_for_each_connection() -> None:
    with site({"/": Reply(b"inside")}) as inside:
        looked_up: list[str] = []

        async def resolver(host: str, port: int) -> Sequence[str]:
            looked_up.append(host)
            return ["127.0.0.1"] if len(looked_up) == 1 else ["192.168.0.1"]

        guard = Guard(Allowed.read(["127.0.0.0/8", f"other.example:{inside.port}"]), resolver)
        client = Client(guard)
        first = await client.get(f"http://other.example:{inside.port}/")
        assert first.body == b"inside"
        assert inside.asked[0][1]["Host"] == f"other.example:{inside.port}"
        assert looked_up == ["other.example"]

        async def turning(host: str, port: int) -> Sequence[str]:
            looked_up.append(host)
            return ["8.8.8.8"] if len(looked_up) % 2 else ["127.0.0.1"]

        looked_up.clear()
        guard = Guard(Allowed(), turning)
        assert await guard.address("rebind.example", 80) == "8.8.8.8"
        with pytest.raises(WebError, match="this machine itself"):
            await guard.address("rebind.example", 80)


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:9/",
        "http://[::ffff:127.0.0.1]/",
        "http://0x7f000001/",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        "http://user:x@example.com/",
        "//localhost/",
        "http://localhost:22/",
    ],
)
async def test_a_redirect_inside_is_refused(target: str, tmp_path: Path) -> None:
    moved = Reply(status=302, headers={"Location": target})
    with site({"/": moved, "/robots.txt": Reply(b"", 404)}) as outside:
        fence = Fence(outside.port)
        options = WebOptions(allow=(outside.place,), per_second=1000)
        web = Web(options, tmp_path, network=fence)
        with pytest.raises(WebError) as caught:
            await web.fetch(outside.url("/"))
    assert fence.others == []
    assert caught.value.kind in ("refused address", "bad address")


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with site({"/": Reply(b"page")}) as page, site({}) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))
        client = Client(Guard(Allowed.read([page.place])))
        assert (await client.get(page.url("/"))).body == b"page"
        assert proxy.asked == []


def test_public_addresses_pass() -> None:
    guard = Guard()
    for url in (
        "https://www.sec.gov/cgi-bin/browse-edgar?action=getcompany",
        "http://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "http://example.com:8080/a",
        "https://münchen.example/straße",
        "http://localhost.example.com/",
        "https://example.com./",
    ):
        guard.check(url)

    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["2606:4700::1111", "64:ff9b::808:808", "8.8.8.8"]

    assert asyncio.run(Guard(resolver=resolver).address("a.example", 443)) == "2606:4700::1111"


def test_what_is_allowed_is_named_as_host_place_or_network() -> None:
    guard = Guard(Allowed.read(["wiki.internal", "127.0.0.1:81", "10.1.0.0/16", "[::1]:82"]))
    for url in (
        "http://wiki.internal:9/",
        "http://127.0.0.1:81/",
        "http://10.1.2.3/",
        "http://[::1]:82/",
    ):
        guard.check(url)
    for url in ("http://127.0.0.1/", "http://10.2.0.1/", "http://x.wiki.internal/"):
        with pytest.raises(WebError):
            guard.check(url)
    with pytest.raises(WrongUse, match="can't be allowed"):
        Allowed.read(["http://a/b"])
