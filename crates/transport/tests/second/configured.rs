//! How ours is configured as the second writing is, and both on a path until they differ.

use tailback_core::{Annexes, AppInput, Bytes, Choice, DataAmount, Input, Span};
use tailback_transport::source::AnySource;
use tailback_transport::{
    EcnMode, LossDetection, PacingConfig, RackConfig, Receiver, ReceiverConfig, RtoConfig, SackCompression,
    Sender, StreamConfig,
};

use super::anew::Anew;
use super::both::{Both, Course};
use super::law::{Law, Ours};
use super::path::{Path, Trouble};
use super::{Options, RackOptions, SEGMENT, Second, receiver};
use crate::pipe::FLOW;

fn loss_detection(rack: Option<RackOptions>) -> LossDetection {
    rack.map_or(LossDetection::DupAcks, |rack| {
        LossDetection::Rack(RackConfig {
            reordering_window: rack.reordering_window,
            persist: rack.persist,
            min_rtt_window: Span::from_nanos(rack.min_rtt_window),
            tail_loss_probe: rack.probes,
            max_ack_delay: Span::from_nanos(rack.max_ack_delay),
        })
    })
}

/// A sender of ours that is configured as the second writing is.
pub fn sender_config(options: &Options) -> StreamConfig {
    let beside = options.beside;
    StreamConfig {
        reliability: options.reliability,
        rtt_sampling: options.sampling,
        dup_threshold: options.dup_threshold,
        limited_transmit: options.limited_transmit,
        rescue: options.rescue,
        keep_scoreboard: options.keep_scoreboard,
        impatient: options.impatient,
        careful: Some(options.careful),
        one_recovery_per_window: options.one_recovery,
        restart_after_idle: options.restart_after_idle,
        spurious: options.spurious,
        lost_retransmissions: options.lost_retransmissions,
        proportional_rate_reduction: options.proportional,
        loss_detection: Choice(loss_detection(options.rack)),
        receive_window: (options.receive_window < u64::MAX)
            .then_some(DataAmount::Packets((options.receive_window / SEGMENT) as f64)),
        rto: RtoConfig {
            min: Span::from_nanos(options.min_rto as u64),
            max: Span::from_nanos(options.max_rto as u64),
            margin_min: Span::from_nanos(options.least_variation as u64),
            ..RtoConfig::default()
        },
        user_timeout: Span::from_secs(1_000_000),
        handshake: beside.handshake,
        pacing: beside
            .pacing
            .map(|(factor, depth)| PacingConfig { factor, burst: DataAmount::Bytes(Bytes::new(depth)) }),
        ack_requests: beside.asks.is_some(),
        ecn: if beside.ecn { EcnMode::Ect0 } else { EcnMode::Off },
        ..StreamConfig::default()
    }
}

/// Where both writings part first, in words. A run without a difference writes down nothing; one with a difference is done again,
/// and then says what the second writing was like at each step.
pub fn difference<S: Second + Clone>(
    options: &Options,
    second: S,
    trouble: &Trouble,
    seed: u64,
    how: (u64, u32, u8),
) -> Option<String> {
    told(options, second.clone(), trouble, seed, how, false)
        .and_then(|_| told(options, second, trouble, seed, how, true))
}

fn told<S: Second + Clone>(
    options: &Options,
    second: S,
    trouble: &Trouble,
    seed: u64,
    (limit, every, blocks): (u64, u32, u8),
    tells_states: bool,
) -> Option<String> {
    let beside = options.beside;
    let config = sender_config(options);
    let receiver = ReceiverConfig {
        ack_every: every,
        max_sack_blocks: blocks,
        ack_requests: beside.asks.is_some(),
        dsack: options.rack.map(|rack| rack.dsack),
        sack_compression: beside.compresses.then(SackCompression::default),
        ..ReceiverConfig::default()
    };
    let receiver = receiver.matching(&config);
    let law = Law::new(limit, beside);
    let ours = Ours::new(law.clone());
    let second_receiver = receiver::Receiver::new(
        every,
        100_000_000,
        receiver.max_sack_blocks.into(),
        options.rack.is_some_and(|rack| rack.dsack),
    );
    let mut both = Both {
        path: Path::new(*trouble, seed),
        sender: Sender::new(FLOW, config, ours, AnySource::pushed()),
        receiver: Receiver::new(FLOW, receiver),
        annexes: Annexes::new(),
        anew: Anew::new(options, second, law),
        second_receiver,
        timers: [None; 2],
        seen: Vec::new(),
        compares_acks: !beside.compresses,
        tells_states,
    };
    both.give_sender(Input::App(AppInput::Start));
    for count in 0..3000 {
        match both.step() {
            Ok(Course::On) => {}
            Ok(Course::Undecided) => return None,
            Ok(Course::Over) => {
                let all = both.anew.waiting == 0 && both.anew.second.in_flight() == 0;
                return (!all).then(|| format!("not all arrives: {}", both.anew.second.state()));
            }
            Err(said) => return Some(format!("step {count}, at {} ms: {said}", both.path.now as f64 / 1e6)),
        }
    }
    None
}
