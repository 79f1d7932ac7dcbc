//! A finite transfer over the pipe, as the tests of streams begin it.

use tailback_control::Reliability;
use tailback_core::{Bytes, CongestionEvent, Span};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, Sender, StreamConfig};

use super::{FLOW, Pipe, Scripted};

pub const ONE_WAY: Span = Span::from_millis(50);

pub type Test = Pipe<Sender<Scripted>, Receiver>;

pub fn config(reliability: Reliability) -> StreamConfig {
    StreamConfig { reliability, ..StreamConfig::default() }
}

pub fn transfer(config: StreamConfig, controller: Scripted, packets: u64) -> Test {
    let receiver = ReceiverConfig::default().matching(&config);
    let source = AnySource::finite(Bytes::new(packets * 960));
    Pipe::new(Sender::new(FLOW, config, controller, source), Receiver::new(FLOW, receiver), ONE_WAY)
}

pub fn events(test: &Test) -> Vec<CongestionEvent> {
    test.sender.controller().log.feedback.iter().filter_map(|told| told.event).collect()
}
