//! Losses and time-outs that were none: what F-RTO (RFC 5682) and Eifel detection (RFC 3522) find out, and what
//! becomes of the window (RFC 9438 §4.9). Over a pipe of 50 ms each way.

use crate::pipe;

use pipe::{FLOW, Fate, Pipe};
use tailback_control::schemes::{Cubic, CubicConfig, Reno, RenoConfig};
use tailback_control::{ControllerParams, Reliability};
use tailback_core::{Bytes, CongestionEvent, Controller, Cx, Directive, Feedback, Kind, Span, Time};
use tailback_transport::source::AnySource;
use tailback_transport::{EcnMode, Receiver, ReceiverConfig, Sender, SpuriousDetection, StreamConfig};

const ONE_WAY: Span = Span::from_millis(50);
const DETECTIONS: [SpuriousDetection; 2] = [SpuriousDetection::FRto, SpuriousDetection::Eifel];
const MODES: [Reliability; 3] = [Reliability::Reno, Reliability::NewReno, Reliability::Sack];

fn config(reliability: Reliability, spurious: SpuriousDetection) -> StreamConfig {
    StreamConfig { reliability, spurious, ..StreamConfig::default() }
}

type Test<C> = Pipe<Sender<C>, Receiver>;

fn transfer<C: Controller>(config: StreamConfig, controller: C, packets: u64) -> Test<C> {
    let receiver = ReceiverConfig::default().matching(&config);
    let source = AnySource::finite(Bytes::new(packets * 960));
    Pipe::new(Sender::new(FLOW, config, controller, source), Receiver::new(FLOW, receiver), ONE_WAY)
}

/// Packets 20 to 29, a whole flight, are held up for a second; nothing is lost. What is behind waits with them.
fn held_up<C: Controller>(test: Test<C>) -> Test<C> {
    test.script(|packet, count, _| match packet.number {
        20..30 if count == 1 && packet.kind() == Kind::Data => Fate::Late(Span::from_secs(1)),
        _ => Fate::Deliver,
    })
}

/// Reno with a window of ten that keeps a list of what happened.
struct Watched {
    reno: Reno,
    events: Vec<CongestionEvent>,
}

fn watched(config: &StreamConfig) -> Watched {
    let ten = Some(Bytes::new(10_000));
    let limits = ControllerParams {
        initial_ssthresh: ten,
        max_window: Bytes::new(10_000),
        ..config.controller_params()
    };
    Watched { reno: Reno::new(&RenoConfig::default(), &limits), events: Vec::new() }
}

impl Controller for Watched {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        self.events.extend(feedback.event);
        self.reno.on_feedback(now, feedback, cx);
    }

    fn directive(&self) -> Directive {
        self.reno.directive()
    }
}

fn reno(mode: Reliability, spurious: SpuriousDetection, packets: u64) -> Test<Watched> {
    let config = config(mode, spurious);
    let controller = watched(&config);
    transfer(config, controller, packets)
}

fn events(test: &Test<Watched>) -> &[CongestionEvent] {
    &test.sender.controller().events
}

fn cubic(config: &StreamConfig) -> Cubic {
    let params =
        ControllerParams { initial_ssthresh: Some(Bytes::new(10_000)), ..config.controller_params() };
    Cubic::new(&CubicConfig::default(), &params)
}

#[test]
fn a_delay_that_looks_like_a_time_out_is_found_out() {
    for mode in MODES {
        // Without detection the whole flight is retransmitted.
        let plain = held_up(reno(mode, SpuriousDetection::Off, 100));
        let plain = plain.start().run(Span::from_secs(20));
        assert!(plain.finished());
        assert!(
            plain.sender.counters().timeouts > 0 && plain.receiver.counters().duplicates >= 9,
            "{mode:?}"
        );
        assert!(!events(&plain).contains(&CongestionEvent::Spurious));
    }
}

/// "The TCP sender MUST refrain from reversing congestion control state" where the acknowledgement that tells echoes a mark (RFC 4015
/// §3.4). What was thought lost is on its way all the same: 20 to 28, all that flies when the timer expires. CWR leaves with 29, later,
/// so that all their acknowledgements echo the mark.
#[test]
fn a_reduction_stands_where_the_same_acknowledgement_echoes_a_mark() {
    for detection in DETECTIONS {
        let config = StreamConfig { ecn: EcnMode::Ect0, ..config(Reliability::Sack, detection) };
        let controller = watched(&config);
        let test = transfer(config, controller, 100).script(|packet, count, _| match packet.number {
            19 if count == 1 && packet.kind() == Kind::Data => Fate::Mark,
            20..29 if packet.kind() == Kind::Data => {
                Fate::Late(Span::from_millis(300 + 100 * u64::from(count)))
            }
            _ => Fate::Deliver,
        });
        let test = test.start().run(Span::from_secs(20));
        assert!(test.finished());
        let timeout = CongestionEvent::Timeout { consecutive: 1 };
        assert_eq!(events(&test), [CongestionEvent::Ecn, timeout], "{detection:?}");
        assert_eq!(test.sender.counters().retransmitted, 1, "{detection:?}: the first retransmission only");
    }
}

#[test]
fn f_rto_finds_a_time_out_by_the_second_acknowledgement() {
    for mode in MODES {
        // As RFC 5682 has it, new data leaves between first and second acknowledgement, so the original flight must
        // come back before a retransmission does: the retransmission waits behind it.
        let hold = |packet: &tailback_core::Packet, count: u32, _: &mut tailback_core::Stream| {
            let late = packet.kind() == Kind::Data && (20..30).contains(&packet.number);
            match count {
                1 if late => Fate::Late(Span::from_millis(400)),
                2 if late => Fate::Late(Span::from_millis(500)),
                _ => Fate::Deliver,
            }
        };
        let test = reno(mode, SpuriousDetection::FRto, 100).script(hold);
        let test = test.start().run(Span::from_secs(20));
        assert!(test.finished());
        assert_eq!(
            events(&test),
            [CongestionEvent::Timeout { consecutive: 1 }, CongestionEvent::Spurious],
            "{mode:?}"
        );
        assert_eq!(test.sender.counters().retransmitted, 1, "{mode:?}: the first retransmission only");
        assert_eq!(test.sender.counters().spurious, 1);
        assert_eq!(test.receiver.counters().duplicates, 1);
        assert!(test.annexes.is_empty());
    }
}

#[test]
fn a_real_time_out_is_repaired_by_f_rto_as_without_it() {
    for mode in MODES {
        let run = |spurious| {
            let drops: &'static [(u64, u32)] =
                &[(20, 1), (21, 1), (22, 1), (23, 1), (24, 1), (25, 1), (26, 1), (27, 1), (28, 1), (29, 1)];
            reno(mode, spurious, 40).dropping(drops).start().run(Span::from_secs(60))
        };
        let (plain, wary) = (run(SpuriousDetection::Off), run(SpuriousDetection::FRto));
        assert!(plain.finished() && wary.finished(), "{mode:?}");
        assert_eq!(wary.sender.counters().spurious, 0, "{mode:?}");
        assert_eq!(wary.sender.counters().retransmitted, 10, "{mode:?}");
        assert_eq!(wary.sender.counters().timeouts, 1, "{mode:?}: the repair waits for no second time-out");
        assert_eq!(wary.receiver.counters().duplicates, 0, "{mode:?}");
        // At 300 ms the flight is lost; the first acknowledgement lets two new segments go, whose duplicates bring the
        // repair back.
        let after_first: Vec<u64> =
            wary.sent().into_iter().map(|(_, number)| number).skip(31).take(2).collect();
        assert_eq!(after_first, [30, 31], "{mode:?}");
        assert!(wary.now >= plain.now);
    }
}

#[test]
fn without_new_data_f_rto_repairs_at_once() {
    for mode in MODES {
        let drops: &'static [(u64, u32)] = &[(5, 1), (6, 1), (7, 1), (8, 1), (9, 1)];
        let run = |spurious| reno(mode, spurious, 10).dropping(drops).start().run(Span::from_secs(30));
        let (plain, wary) = (run(SpuriousDetection::Off), run(SpuriousDetection::FRto));
        assert!(wary.finished());
        assert_eq!(plain.sent(), wary.sent(), "{mode:?}");
    }
}

#[test]
fn eifel_finds_a_fast_retransmission_for_a_reordered_segment() {
    for mode in MODES {
        let test = reno(mode, SpuriousDetection::Eifel, 60)
            .script(|packet, count, _| match (packet.number, count) {
                (12, 1) if packet.kind() == Kind::Data => Fate::Late(Span::from_millis(120)),
                (12, 2) if packet.kind() == Kind::Data => Fate::Late(Span::from_millis(200)),
                _ => Fate::Deliver,
            })
            .start()
            .run(Span::from_secs(20));
        assert!(test.finished());
        assert_eq!(events(&test)[..2], [CongestionEvent::Loss, CongestionEvent::Spurious], "{mode:?}");
        assert_eq!(test.sender.counters().retransmitted, 1, "{mode:?}");
    }
}

#[test]
fn eifel_believes_real_losses() {
    for mode in MODES {
        let drops: &'static [(u64, u32)] = &[(12, 1), (15, 1), (40, 1), (40, 2)];
        let test = reno(mode, SpuriousDetection::Eifel, 80).dropping(drops).start().run(Span::from_secs(30));
        assert!(test.finished());
        assert_eq!(test.sender.counters().spurious, 0, "{mode:?}");
    }
}

#[test]
fn eifel_judges_time_outs_in_a_row_by_the_first_retransmission() {
    // The whole flight is lost, and the first retransmission is so late that the timer expires once more: the second time-out
    // was for nothing, the first was not (RFC 3522 §3.2 step 2).
    for mode in MODES {
        let test = reno(mode, SpuriousDetection::Eifel, 60)
            .script(|packet, count, _| match (packet.kind(), packet.number, count) {
                (Kind::Data, 20..30, 1) => Fate::Drop,
                (Kind::Data, 20, 2) => Fate::Late(Span::from_millis(350)),
                _ => Fate::Deliver,
            })
            .start()
            .run(Span::from_secs(20));
        assert!(test.finished());
        let expected = [1, 2].map(|consecutive| CongestionEvent::Timeout { consecutive });
        assert_eq!(events(&test)[..2], expected, "{mode:?}");
        assert_eq!(test.sender.counters().spurious, 0, "{mode:?}");
    }
}

#[test]
fn cubic_takes_its_reduction_back() {
    for detection in DETECTIONS {
        let config = config(Reliability::Sack, detection);
        let controller = cubic(&config);
        let mut before = Bytes::ZERO;
        let mut test = transfer(config, controller, 2000)
            .script(|packet, count, _| match (packet.number, count) {
                (200.., 1) if packet.kind() == Kind::Data && packet.number < 230 => {
                    Fate::Late(Span::from_millis(400))
                }
                (200.., 2) if packet.kind() == Kind::Data && packet.number < 230 => {
                    Fate::Late(Span::from_millis(500))
                }
                _ => Fate::Deliver,
            })
            .start();
        let end = test.now + Span::from_secs(5);
        while test.sender.counters().timeouts == 0 && test.step(end) {
            if test.sender.counters().timeouts == 0 {
                before = test.sender.window().expect("a window");
            }
        }
        assert_eq!(test.sender.window(), Some(Bytes::new(1000)), "the time-out is believed at first");
        while test.sender.counters().spurious == 0 && test.step(end) {}
        let after = test.sender.window().expect("a window");
        assert!(after >= before, "{detection:?}: {after} instead of {before}");
        assert!(test.sender.controller().k().is_some(), "the stage goes on");
    }
}
