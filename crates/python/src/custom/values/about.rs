//! What a part knows when it is made: its connection, or its link.

use pyo3::prelude::*;
use tailback_control::ControllerParams;
use tailback_core::{Bytes, Capacity};
use tailback_qdisc::BuildCx;

/// What a controller or feedback policy knows of its connection.
#[pyclass(frozen, get_all, module = "tailback")]
pub(crate) struct Connection {
    segment: u64,
    initial_window: u64,
    initial_ssthresh: Option<u64>,
    max_window: u64,
}

impl Connection {
    pub(crate) fn new(params: &ControllerParams) -> Self {
        Self {
            segment: params.segment.get(),
            initial_window: params.initial_window.get(),
            initial_ssthresh: params.initial_ssthresh.map(Bytes::get),
            max_window: params.max_window.get(),
        }
    }
}

/// What a queue discipline knows of its link.
#[pyclass(name = "Link", frozen, get_all, module = "tailback")]
pub(crate) struct LinkInfo {
    buffer_packets: Option<u32>,
    buffer_bytes: Option<u64>,
    rate: u64,
    mean_packet: u64,
}

impl LinkInfo {
    pub(crate) fn new(cx: &BuildCx) -> Self {
        let (packets, bytes) = match cx.capacity {
            Capacity::Packets(packets) => (Some(packets), None),
            Capacity::Bytes(bytes) => (None, Some(bytes.get())),
            _ => (None, None),
        };
        Self {
            buffer_packets: packets,
            buffer_bytes: bytes,
            rate: cx.rate.bits_per_sec(),
            mean_packet: cx.mean_packet.get(),
        }
    }
}
