"""Custom parts, written in Python: controllers, feedback policies and queue disciplines by subclassing, with the
names and meanings of the traits that the built-in ones implement. For trying ideas out; what they cost per packet is
stated in the documentation."""

from tailback._core import (
    Acked,
    Arrival,
    Connection,
    Control,
    ControlPair,
    Cx,
    DataPairs,
    Directive,
    Echoes,
    Envelope,
    Feedback,
    Link,
    Lost,
    Outgoing,
    Packet,
    ProbeCluster,
    QueueCx,
    RttSample,
    Sent,
)
from tailback.custom.parts import Controller, FeedbackPolicy, QueueDiscipline
from tailback.custom.registry import register
from tailback.errors import PartError

__all__ = [
    "Acked",
    "Arrival",
    "Connection",
    "Control",
    "ControlPair",
    "Controller",
    "Cx",
    "DataPairs",
    "Directive",
    "Echoes",
    "Envelope",
    "Feedback",
    "FeedbackPolicy",
    "Link",
    "Lost",
    "Outgoing",
    "Packet",
    "PartError",
    "ProbeCluster",
    "QueueCx",
    "QueueDiscipline",
    "RttSample",
    "Sent",
    "register",
]
