"""Runs in the formats of other tools: packets for Wireshark, congestion state for qvis, delivery traces for Mahimahi."""

from tailback.capture.mahimahi import constant_rate, delivery_trace, write_mahimahi
from tailback.capture.pcapng import write_pcapng
from tailback.capture.qlog import write_qlog

__all__ = ["constant_rate", "delivery_trace", "write_mahimahi", "write_pcapng", "write_qlog"]
