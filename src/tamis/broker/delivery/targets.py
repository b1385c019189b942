"""Where a webhook may point: HTTPS on the public internet, and nowhere inside.

The name is resolved once, every address it gives is judged, and the connection goes to the judged address itself, so a name
that answers differently the second time gains nothing. TLS still checks the certificate against the name.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import urlsplit

import httpcore

from tamis.errors import TargetError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[list[Address]]]
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def check_url(url: str, loopback: bool) -> None:
    """Refuse what can be refused without asking the network; names are judged again when they are called."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as problem:
        raise TargetError(f"the webhook address is malformed: {problem}") from None
    if not url.isascii() or any(c <= " " or c == "\\" for c in url) or port == 0:
        raise TargetError("the webhook address is malformed: use plain ASCII without blanks, and a port above 0")
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        raise TargetError("the webhook address needs a host, and no user, password or fragment")
    inside = loopback and is_loopback_name(host)
    if parts.scheme != "https" and not (parts.scheme == "http" and inside):
        raise TargetError("a webhook address starts with https://")
    literal = literal_address(host)
    if literal is not None:
        judge([literal], loopback)
    elif not inside and (host.endswith((".localhost", ".local", ".internal")) or "." not in host.rstrip(".")):
        raise TargetError(f"a webhook may not call {host!r}: it is a local name")


def literal_address(host: str) -> Address | None:
    """The address a host spells out, also in the odd forms (`127.1`, `0x7f000001`, `2130706433`) that resolvers accept."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
    except OSError:
        return None


def is_loopback_name(host: str) -> bool:
    """Whether a host is this machine by name or by address."""
    literal = literal_address(host)
    return host == "localhost" if literal is None else literal.is_loopback


def judge(addresses: Iterable[Address], loopback: bool) -> Address:
    """The first address, if all may be called."""
    found = list(addresses)
    for address in found:
        inner = embedded(address)
        if not (inner.is_global and not inner.is_multicast) and not (loopback and inner.is_loopback):
            raise TargetError(f"a webhook may not call {address}: it is not on the public internet")
    if not found:
        raise TargetError("the webhook's host has no address")
    return found[0]


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address.teredo is not None:
            return address.teredo[1]
        if address in NAT64 or (int(address) < 1 << 32 and not address.is_loopback):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


async def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a name, as this machine's resolver tells them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


class JudgedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections only to addresses that were judged."""

    def __init__(self, loopback: bool, resolver: Resolver = resolve) -> None:
        self.loopback, self.resolver = loopback, resolver
        self.inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve once, judge, and connect to that very address."""
        async with asyncio.timeout(timeout):
            address = judge(await self.resolver(host, port), self.loopback)
        return await self.inner.connect_tcp(str(address), port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Never."""
        raise TargetError("a webhook may not call a local socket")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
