"""The least time in which a message can cross its flow's empty path: what completion times are compared with in
``results/completion.py``. Nothing is simulated here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tailback import _core

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_CELL = 53.0
"""Bytes of an ATM cell on the wire."""
_CELL_PAYLOAD = 48.0
"""What of it carries a packet (ITU-T I.363.5)."""
_TRAILER = 8.0
"""What AAL 5 adds to each packet."""


def least_times(network: _core.Network, flows: Rows, sizes: Floats) -> Floats:
    """Seconds from a message's first packet to the arrival of its last acknowledgement, per message.

    All its packets leave at once and wait for nothing but each other, every link stores a packet before it forwards it, and
    the last acknowledgement finds its way back empty. A multicast group's message takes as long as its slowest receiver's.
    Links whose rate or delay changes are taken as they begin.

    Args:
        network: links and routes.
        flows: per message, the row of its flow.
        sizes: per message, its bytes without headers.
    """
    ways = _Ways(network)
    least = np.zeros(sizes.size)
    receivers = np.asarray(network["receivers"], dtype=np.intp)[flows]
    alone = receivers == 0
    least[alone] = ways.least(flows[alone], sizes[alone])
    for receiver in range(receivers.max(initial=0)):
        group = receivers > receiver
        found = ways.least(flows[group] + 1 + receiver, sizes[group])
        least[group] = np.maximum(least[group], found)
    return least


class _Pieces(NamedTuple):
    """What a message is on the wire: so many pieces of one size, but for the last."""

    many: Floats
    full: Floats
    last: Floats


class _Ways:
    """The routes of all flows, there and back, as tables of one row per flow."""

    def __init__(self, network: _core.Network) -> None:
        groups = np.asarray(network["groups"], dtype=np.intp)
        self._packet, self._header = (
            np.asarray(network[name], dtype=np.float64)[groups] for name in ("packet_bytes", "header_bytes")
        )
        self._in_cells = np.asarray(network["cells"], dtype=np.bool_)[groups]
        # Shorter routes end with a link that takes no time.
        self._per_byte = np.append(8.0 / np.asarray(network["rate_bits"], dtype=np.float64), 0.0)
        self._delay = np.append(np.asarray(network["delay_seconds"], dtype=np.float64), 0.0)
        self._there, self._back = (self._table(network[name]) for name in ("routes", "return_routes"))

    def _table(self, routes: Sequence[Sequence[int]]) -> Rows:
        """Routes below one another, each filled up with the link that takes no time."""
        lengths = np.fromiter(map(len, routes), dtype=np.intp, count=len(routes))
        table = np.full((len(routes), lengths.max(initial=0)), self._delay.size - 1, dtype=np.intp)
        table[np.arange(table.shape[1]) < lengths[:, None]] = np.fromiter(
            (link for route in routes for link in route), dtype=np.intp, count=lengths.sum()
        )
        return table

    def least(self, flows: Rows, sizes: Floats) -> Floats:
        """The least time of each message, carried by one of these flows to one receiver."""
        packet, header = self._packet[flows], self._header[flows]
        count = np.maximum(np.ceil(sizes / (packet - header)), 1.0)
        data = self._pieces(flows, _Pieces(count, packet, sizes - (count - 1.0) * (packet - header) + header))
        ack = self._pieces(flows, _Pieces(np.ones(sizes.size), header, header))
        return self._crossing(self._there[flows], data) + self._crossing(self._back[flows], ack)

    def _pieces(self, flows: Rows, packets: _Pieces) -> _Pieces:
        """Packets as they are, or the cells that carry them."""
        cells = (packets.many - 1.0) * _cells(packets.full) + _cells(packets.last)
        of_cells = (cells, np.full(cells.size, _CELL), np.full(cells.size, _CELL))
        in_cells = self._in_cells[flows]
        return _Pieces(*(np.where(in_cells, cut, whole) for cut, whole in zip(of_cells, packets, strict=True)))

    def _crossing(self, route: Rows, pieces: _Pieces) -> Floats:
        """From the first piece's start to the last one's arrival.

        Piece *k* leaves link *i* at ``max(D(i-1, k), D(i, k-1)) + size(k) / rate(i)``. With all but the last alike, that is
        the longest of these ways through the table: the first piece up to some link, the others behind it at the slowest
        link so far, and the last one from there on.
        """
        others = np.maximum(pieces.many - 2.0, 0.0)
        first, slowest, longest = (np.zeros(pieces.many.size) for _ in range(3))
        per_byte = self._per_byte[route]
        # From this link on, transmission of the last piece alone.
        rest = np.cumsum(per_byte[:, ::-1], axis=1)[:, ::-1] * pieces.last[:, None]
        for hop in range(route.shape[1]):
            first += pieces.full * per_byte[:, hop]
            slowest = np.maximum(slowest, per_byte[:, hop])
            longest = np.maximum(longest, first + others * pieces.full * slowest + rest[:, hop])
        alone = rest[:, 0] if route.shape[1] else longest
        crossing: Floats = np.where(pieces.many > 1.0, longest, alone) + self._delay[route].sum(axis=1)
        return crossing


def _cells(packet: Floats) -> Floats:
    """How many cells carry a packet of so many bytes."""
    cells: Floats = np.ceil((packet + _TRAILER) / _CELL_PAYLOAD)
    return cells
