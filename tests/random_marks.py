"""A queue that marks at random, for tests of schemes that live on marks; what they make of it is theirs to say."""

from __future__ import annotations

from collections import deque

import tailback as tb


class RandomMarks(tb.QueueDiscipline):
    """First in, first out; marks at random."""

    def __init__(self, link: tb.Link, chance: float = 0.01) -> None:
        del link
        self.chance = chance
        self.waiting: deque[tb.Packet] = deque()

    def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
        """Marks, with some chance."""
        del now
        if cx.chance(self.chance):
            cx.mark_ce(packet)
        self.waiting.append(packet)

    def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
        """The oldest."""
        del now, cx
        return self.waiting.popleft() if self.waiting else None
