"""The base classes of custom parts. Times are seconds since the start of the run, amounts bytes on the wire, rates
bit/s. How parts reach the simulator is the business of ``registry.py``."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never

from tailback._core import (
    Arrival,
    ArrivalReports,
    Connection,
    Cx,
    Directive,
    Feedback,
    Link,
    Outgoing,
    Packet,
    QueueCx,
    Sent,
)
from tailback.errors import PartError, TailbackWarning


class Made(ABCMeta):
    """The type of the classes of parts, which the run makes: who calls one without what it is made of is told how to name it."""

    if not TYPE_CHECKING:  # Which a checker of types would take for what the classes themselves are called with.

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            """Makes a part.

            Raises:
                PartError: where there is nothing to make it of.
            """
            if not args and not kwargs and not cls._needs_nothing():
                raise PartError(f"{cls.__name__}(): runs make their parts; expected {cls._named()}")
            return super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What ``help`` shows: what ``__init__`` takes."""
        whole = inspect.signature(cls.__init__)  # type: ignore[misc]  # Subclasses may take others: theirs are asked for.
        return whole.replace(parameters=[*whole.parameters.values()][1:], return_annotation=whole.empty)

    def _needs_nothing(cls) -> bool:
        try:
            cls.__signature__.bind()
        except TypeError:
            return False
        return True

    def _named(cls) -> str:
        for way, where in (("scheme", "tb.flows(2, {})"), ("queue", "tb.dumbbell(…, queue={})")):
            if hasattr(cls, way):
                return f"the class with its settings, {where.format(f'{cls.__name__}.{way}()')}"
        return f"the class itself, policy = {cls.__name__} in a controller"


class FeedbackPolicy(ABC, metaclass=Made):
    """The receiver's half of a scheme: it sees packets arrive and decides what to report, and when.

    Acknowledgements of reliable streams are not its business; the transport makes them.
    """

    Report: ClassVar[type | None] = None
    """The type of its reports: a data class of numbers, whose instances go into ``Outgoing`` here and come out of
    ``Feedback.report`` at the controller."""

    def __init__(self, connection: Connection, **settings: Any) -> None:
        """A policy for one connection; settings are those of the scheme's controller."""
        del settings
        self.connection = connection

    @abstractmethod
    def on_arrival(self, now: float, arrival: Arrival, cx: Cx) -> None:
        """A packet arrived."""

    @abstractmethod
    def poll_report(self, now: float, cx: Cx) -> Outgoing | None:
        """A report to send now, if one is due; asked again until there is none."""

    def next_timer(self) -> float | None:
        """When a report will be due without further arrivals, in seconds as ``now`` is; ``None`` for never."""
        return None


class Controller(ABC, metaclass=Made):
    """The sender's half of a scheme: it sees packets leave and feedback arrive, and answers with a directive.

    ``on_feedback`` is called for every batch of feedback, ``on_sent`` for every packet that leaves and ``on_timer`` at
    :meth:`next_timer`, both only where a subclass has them. After each, :meth:`directive` is asked once and obeyed.
    """

    name: ClassVar[str] = ""
    """What scenarios and results call it; the class's name in kebab case where empty."""
    policy: ClassVar[type[FeedbackPolicy] | ArrivalReports | None] = None
    """The receiver's half, where the scheme has one besides acknowledgements: a class, or ``tb.ArrivalReports(0.05)`` for reports
    of arrivals every 50 ms, as schemes for media have them (RFC 8888)."""
    reliability: ClassVar[Literal["sack", "new-reno", "reno", "vegas", "offsets", "datagram"]] = "sack"
    """How lost data is repaired: as by selective acknowledgements, NewReno, Reno, Reno with Vegas's timer, by the offsets of
    acknowledgements as packet-pair does, or not at all (datagrams)."""
    ecn: ClassVar[Literal["off", "ect0", "ect1"]] = "off"
    """The ECN codepoint that data leaves with; where the scenario asks for one, that counts."""
    echo: ClassVar[Literal["latched", "per-packet", "state-change", "counted", "codepoints"] | None] = None
    """How the receiver echoes marks; as the scenario says where ``None``. With ``state-change``, which is DCTCP's, marked bytes are
    told from others though acknowledgements be delayed. With ``counted``, ``feedback.echoes`` says how many packets were marked;
    with ``codepoints``, of both marks of TDQM in the ECN field."""
    marks: ClassVar[Literal["rfc3168", "controller"]] = "rfc3168"
    """Who answers an echo: with ``rfc3168``, one at a window of a single segment silences the sender until its timer expires
    (RFC 3168 §6.1.2); with ``controller`` the controller alone, which may as well ignore it."""
    stamps: ClassVar[bool] = False
    """Whether data packets carry the time they were sent, and what the sender knows, for the feedback policy; acknowledgements of
    streams then say when they arrived (``feedback.one_way``)."""
    acks: ClassVar[int | None] = None
    """The receiver acknowledges at the latest after so many data packets, 1 for each at once; as the scenario says where
    ``None``."""
    delivery: ClassVar[bool] = False
    """Whether feedback has samples of the delivery rate (``feedback.delivery``); streams only."""
    lost_retransmissions: ClassVar[bool] = False
    """Whether a retransmission is lost once what left after it has overtaken it (RFC 8985 §6.2), and not only when the timer
    expires; over ``sack`` only."""
    ack_requests: ClassVar[bool] = False
    """Whether directives may ask the receiver how to acknowledge, by ``ack_frequency`` and ``immediate_ack``; streams only."""

    def __init__(self, connection: Connection) -> None:
        """A controller for one connection. Subclasses add settings as keyword arguments with defaults."""
        self.connection = connection

    @abstractmethod
    def on_feedback(self, now: float, feedback: Feedback, cx: Cx) -> None:
        """Feedback arrived."""

    @abstractmethod
    def directive(self) -> Directive:
        """What the sender may do from now on."""

    def on_sent(self, now: float, sent: Sent, cx: Cx) -> None:
        """A packet leaves; ``sent.tag`` comes back with its acknowledgement or loss."""

    def on_timer(self, now: float, cx: Cx) -> None:
        """The time given by :meth:`next_timer` has come."""

    def next_timer(self) -> float | None:
        """When the controller wants to be called without feedback, in seconds as ``now`` is; ``None`` for never."""
        return None

    @classmethod
    def scheme(cls, *unnamed: Never, **settings: bool | float | str) -> dict[str, Any]:
        """This controller as a scheme of a scenario, with these settings: ``tb.flows(2, MyController.scheme(gain=2))``.

        Registers it in this process.

        Raises:
            PartError: where the class or a setting makes no sense.
        """
        return _entered(cls, unnamed, settings)


class QueueDiscipline(ABC, metaclass=Made):
    """Decides order, drops and marks at a link. Everything that is enqueued must be dropped or given out again, once."""

    name: ClassVar[str] = ""
    """What scenarios call it; the class's name in kebab case where empty."""

    def __init__(self, link: Link) -> None:
        """A discipline for one link. Subclasses add settings as keyword arguments with defaults."""
        self.link = link

    @abstractmethod
    def enqueue(self, now: float, packet: Packet, cx: QueueCx) -> None:
        """Takes a packet in, or drops it or others by ``cx.drop``."""

    @abstractmethod
    def dequeue(self, now: float, cx: QueueCx) -> Packet | None:
        """The next packet to transmit, if any; may drop some on the way to it."""

    def next_ready(self, now: float) -> float | None:
        """Where ``dequeue`` gives nothing although packets wait: when it will have something."""
        del now
        return None

    def next_timer(self) -> float | None:
        """When the discipline wants to be called without a packet."""
        return None

    def on_timer(self, now: float, cx: QueueCx) -> None:
        """The time given by :meth:`next_timer` has come."""

    @classmethod
    def queue(cls, *unnamed: Never, **settings: bool | float | str) -> dict[str, Any]:
        """This discipline as a queue of a scenario, with these settings: ``tb.dumbbell(..., queue=MyQueue.queue())``.

        Registers it in this process.

        Raises:
            PartError: where the class or a setting makes no sense.
        """
        return _entered(cls, unnamed, settings)


def _entered(part: Any, unnamed: tuple[Any, ...], settings: dict[str, bool | float | str]) -> dict[str, Any]:
    from tailback.custom.registry import displaced, register, table  # Which knows these classes.

    if unnamed:
        takes = [*inspect.signature(part.__init__).parameters][2:]
        allowed = (
            f"its name, as in {takes[0]}={unnamed[0]!r}" if takes else f"no setting, for {part.__name__} takes none"
        )
        raise PartError(f"{part.__name__}: {unnamed[0]!r} is not allowed; expected {allowed}")
    other = displaced(part)
    register(part)
    if other is not None:
        name, mine, its = table(part, {})["part"], *(f"{each.__module__}.{each.__qualname__}" for each in (part, other))
        warnings.warn(
            f"{name} means {mine} from now on, while scenarios that were made with {its} of the same name keep that; "
            f'give one of them another, such as name = "{name}-2" in the class, to tell them apart',
            TailbackWarning,
            stacklevel=3,
        )
    return table(part, settings)
