"""Parts of your own, written in Python: controllers, feedback policies and queue disciplines by subclassing, with the
names and meanings of the traits that the built-in ones implement. For trying ideas out; what they cost per packet is
stated in the documentation."""

from tailback.own.parts import (
    Acked,
    Arrival,
    Connection,
    Controller,
    Cx,
    Directive,
    Echoes,
    Feedback,
    FeedbackPolicy,
    Link,
    Lost,
    Outgoing,
    Packet,
    QueueCx,
    QueueDiscipline,
    RttSample,
    Sent,
)
from tailback.own.registry import PartError, register

__all__ = [
    "Acked",
    "Arrival",
    "Connection",
    "Controller",
    "Cx",
    "Directive",
    "Echoes",
    "Feedback",
    "FeedbackPolicy",
    "Link",
    "Lost",
    "Outgoing",
    "Packet",
    "PartError",
    "QueueCx",
    "QueueDiscipline",
    "RttSample",
    "Sent",
    "register",
]
