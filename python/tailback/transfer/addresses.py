"""Where a transfer goes and where it is waited for: addresses as people write them and as the core reads them. Whether anybody is
there is the core's business."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final

from tailback.errors import refused
from tailback.transfer.errors import TransferError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PORT: Final = 4747
"""Where receivers listen unless told otherwise."""
_LAB: Final = tuple(
    ipaddress.ip_network(network) for network in ("127.0.0.0/8", "::1/128", "198.18.0.0/15", "2001:2::/48")
)
"""Networks in which nothing needs to be secret: this host's own, and those for measurements (RFC 2544, RFC 5180), which
``tailback shell`` and ``tailback lab`` use."""
_ALL_HOSTS: Final = ipaddress.ip_address("255.255.255.255")
"""Of a link (RFC 919)."""


def read(text: str) -> Address:
    """An address of this host, as ``--address`` has it.

    Raises:
        ArgumentError: where it is none.
    """
    try:
        return _plain(ipaddress.ip_address(text))
    except ValueError:
        raise refused("--address", text, "an IP address of this host") from None


def _plain(address: Address) -> Address:
    """Where an address of IPv4 is written as one of IPv6 (RFC 4291 section 2.5.5.2), the former: packets are of IPv4."""
    return getattr(address, "ipv4_mapped", None) or address


def interface(address: Address) -> int:
    """The number of the interface that is behind an address of a link alone; 0 for other addresses.

    Raises:
        ArgumentError: where the address does not say it, or there is none.
    """
    named = getattr(address, "scope_id", None)
    if named is None:
        if address.version == 6 and address.is_link_local:
            allowed = "the interface behind a link-local address, as in fe80::1%eth0"
            raise refused("--address", str(address), allowed)
        return 0
    try:
        return int(named) if named.isdecimal() else socket.if_nametoindex(named)
    except OSError:
        raise refused("--address", str(address), "an interface of this host behind the address") from None


def resolved(host: str) -> dict[Address, str]:
    """The addresses behind ``HOST``, ``HOST:PORT`` or ``[ADDRESS]:PORT``, and how the core reads each with its port.

    Raises:
        ArgumentError: where it is not the address of one host.
        TransferError: where no address is known.
    """
    name, port = _name_and_port(host)
    try:
        found = socket.getaddrinfo(name, int(port), type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise TransferError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    addresses = {}
    for *_, where in found:
        # An address of a link alone is one of an interface, whose number stands last (RFC 4007 section 11).
        link = f"%{where[3]}" if len(where) == 4 and where[3] else ""
        address = _plain(ipaddress.ip_address(str(where[0]).partition("%")[0] + link))
        if address.is_multicast or address.is_unspecified or address == _ALL_HOSTS:
            raise refused("HOST", host, "the address of one host")
        addresses[address] = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
    return addresses


def _name_and_port(host: str) -> tuple[str, str]:
    """What stands in ``HOST``, ``HOST:PORT``, ``ADDRESS`` or ``[ADDRESS]:PORT``."""
    found = re.fullmatch(r"\[([^][]+)](?::([0-9]+))?|([^][:]+)(?::([0-9]+))?", host)
    if found:
        name, port = found[1] or found[3], found[2] or found[4] or str(PORT)
    else:
        name, port = host, str(PORT) if _is_address(host) else ""
    if not (port and 0 < int(port) < 1 << 16):
        raise refused("HOST", host, "HOST, HOST:PORT or [ADDRESS]:PORT")
    return name, port


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def expect_lab(address: Address) -> None:
    """Refuses to send in the clear to anything but a network of a lab.

    Raises:
        ArgumentError: where the address is of another network.
    """
    if not any(address in network for network in _LAB if network.version == address.version):
        networks = ", ".join(str(network) for network in _LAB)
        raise refused("--plaintext", str(address), f"an address of a lab's own network ({networks}); others need keys")


def own() -> str:
    """The address by which this host reaches others, which are not asked."""
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((elsewhere, 9))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return socket.gethostname()
