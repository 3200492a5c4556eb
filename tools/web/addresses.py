"""Which addresses may be fetched: public ones alone, and what a setting allows besides.

A page that a model reads can ask it to fetch anything, so that the network of this machine must
not be reachable by an address: not by its name, not by another spelling of its number, not by a
name that leads to it. Ranges follow the IANA special-purpose registries (RFC 6890 and later).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from deskwork.tools.errors import WebError, WrongUse

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host name and a port to its IP addresses as text. Raises `OSError`."""

PORTS = frozenset({80, 443, 8000, 8080, 8443})
"""Where web servers listen; another port is a service of another kind unless it is allowed."""

_INNER_NAMES = ("localhost", "local", "internal", "localdomain", "lan", "intranet", "home.arpa")
# Public by its number, and yet a cloud's own service: the wire server of Azure.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_REFUSED = tuple(
    ipaddress.ip_network(text)
    for text in (
        # Written out, since what `ipaddress` calls global differs between versions of Python:
        # 3.11 lets most of 192.0.0.0/24 pass, where Oracle's cloud keeps its metadata.
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "2001::/23",  # Teredo and other special purposes
        "2001:db8::/32",
        "3fff::/20",
    )
)
_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")


async def system_resolver(host: str, port: int) -> list[str]:
    """The addresses as the system's resolver gives them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


@dataclass(frozen=True)
class Allowed:
    """What may be reached though it isn't public: hosts, hosts with a port, and networks."""

    hosts: frozenset[str] = frozenset()
    places: frozenset[tuple[str, int]] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def read(cls, entries: Iterable[str]) -> Allowed:
        """From a setting's entries: ``host``, ``host:port`` or CIDR. Raises `WrongUse`."""
        hosts, places, networks = set[str](), set[tuple[str, int]](), list[Network]()
        for entry in entries:
            text = entry.strip().lower()
            if network := _network(text):
                networks.append(network)
            elif match := re.fullmatch(r"\[?([a-z0-9._-]+|[0-9a-f:]+)\]?:(\d{1,5})", text):
                places.add((match.group(1), int(match.group(2))))
            elif re.fullmatch(r"[a-z0-9._-]+", text):
                hosts.add(text.rstrip("."))
            else:
                raise WrongUse(
                    f"{entry!r} can't be allowed: it is no host name, host:port or network.",
                    'Write allow = ["intranet.example", "wiki.example:8080", "10.1.0.0/16"].',
                )
        return cls(frozenset(hosts), frozenset(places), tuple(networks))

    def names(self, host: str, port: int) -> bool:
        """Whether the place is allowed by its name, wherever that leads."""
        return host in self.hosts or (host, port) in self.places

    def holds(self, address: Address) -> bool:
        """Whether the address is in an allowed network."""
        return any(address in network for network in self.networks)


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def why_refused(address: Address) -> str:
    """What kind of place an address is that isn't public; empty for a public one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return why_refused(inner)
    if address in _METADATA:
        return "a cloud's metadata service"
    if address.is_loopback or address.is_unspecified:
        return "this machine itself"
    if address.is_link_local:
        return "link-local, where clouds keep metadata"
    if address.is_multicast:
        return "multicast"
    outside = address.version == 6 and address not in _GLOBAL_IPV6
    if outside or not address.is_global or any(address in network for network in _REFUSED):
        return "private, shared or reserved"
    return ""


def literal(host: str) -> Address | None:
    """The address that a host is written as, in any spelling that systems take; None for a name.

    Decimal, octal, hexadecimal and shortened forms (``2130706433``, ``0x7f.1``) are read as
    ``inet_aton`` does.
    """
    text = host.strip("[]").partition("%")[0]
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    if re.fullmatch(r"[0-9a-fx.]+", text, re.I) and re.match(r"\d", text):
        try:
            return ipaddress.IPv4Address(socket.inet_aton(text))
        except OSError:
            return None
    return None


class Guard:
    """Decides what may be connected to. A name is resolved once, and that answer is used."""

    def __init__(
        self, allowed: Allowed | None = None, resolver: Resolver = system_resolver
    ) -> None:
        self._allowed = allowed or Allowed()
        self._resolve = resolver

    def check(self, text: str) -> httpx.URL:
        """The address, parsed, if its form is one that may be fetched. Raises `WebError`."""
        shown = text if len(text) < 300 else text[:300] + "…"
        try:
            url = httpx.URL(text.strip())
            host, port = url.host.rstrip(".").lower(), url.port or _port(url.scheme)
            odd = "\\" in text or any(ord(char) < 33 for char in text.strip())
            odd = odd or not urlsplit(text.strip()).netloc
        except (httpx.InvalidURL, ValueError, UnicodeError):
            raise WebError("bad address", f"{shown!r} is no address of a page.") from None
        if url.scheme not in ("http", "https"):
            raise WebError(
                "refused address", f"{shown} is not http or https.", "Only web pages are fetched."
            )
        if odd or not host:
            raise WebError("bad address", f"{shown!r} is no address of a page.")
        if url.userinfo:
            raise WebError(
                "refused address",
                f"The address of {host} holds a name or a password.",
                "Give it without them.",
            )
        if self._allowed.names(host, port):
            return url
        if any(host == name or host.endswith("." + name) for name in _INNER_NAMES):
            raise _refused(host, "it names a machine of the local network")
        address = literal(host)
        if address is not None and self._allowed.holds(address):
            return url
        if address is not None and (why := why_refused(address)):
            raise _refused(host, f"its address is {why}")
        if port not in PORTS:
            raise _refused(f"{host}:{port}", "web servers don't listen at this port")
        return url

    async def address(self, host: str, port: int) -> str:
        """The one address to connect to. Raises `WebError` when any of the host's is refused."""
        name = host.rstrip(".").lower()
        written = literal(name)
        try:
            texts = [str(written)] if written is not None else await self._resolve(name, port)
            found = [ipaddress.ip_address(text.partition("%")[0]) for text in texts]
        except (OSError, UnicodeError, ValueError) as error:
            told = getattr(error, "strerror", None) or error
            raise WebError(
                "unreachable", f"The name {name} can't be resolved: {told}.", "Check the address."
            ) from None
        if not found:
            raise WebError("unreachable", f"The name {name} has no address.", "Check the address.")
        if not self._allowed.names(name, port):
            for address in found:
                why = "" if self._allowed.holds(address) else why_refused(address)
                # One refused answer among good ones is how a name is made to change its mind.
                if why:
                    raise _refused(name, f"it leads to {address}, which is {why}")
        return str(found[0])


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _refused(place: str, why: str) -> WebError:
    return WebError(
        "refused address",
        f"{place} is not fetched: {why}.",
        "A person can allow it in the table [web] of deskwork.toml (`allow`).",
    )
