//! Every field of a directive is obeyed: a rate that reaches only a plot is a bug. Each is driven through both kinds
//! of senders, over a pipe of 50 ms each way. Pairs, clusters and padding are in `probing.rs`.

mod probing;
mod redirected;

use crate::pipe;

use pipe::{FLOW, Pipe, Scripted};
use tailback_core::{BitRate, Burst, Bytes, Directive, Endpoint, Gate, Kind, Span, Time, Tokens};
use tailback_transport::source::{AnySource, Offer, Source};
use tailback_transport::{
    DatagramConfig, DatagramReceiver, DatagramSender, PacingConfig, Receiver, ReceiverConfig, Sender,
    StreamConfig,
};

const ONE_WAY: Span = Span::from_millis(50);
const MBIT: BitRate = BitRate::from_bits_per_sec(1_000_000);

fn stream(controller: Scripted) -> Pipe<Sender<Scripted>, Receiver> {
    let config = StreamConfig::default();
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    Pipe::new(Sender::new(FLOW, config, controller, AnySource::infinite()), receiver, ONE_WAY)
}

/// A file of so many full packets.
fn file(controller: Scripted, packets: u64) -> Pipe<Sender<Scripted>, Receiver> {
    let config = StreamConfig::default();
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let size = (config.segment_size - config.header) * packets;
    Pipe::new(Sender::new(FLOW, config, controller, AnySource::finite(size)), receiver, ONE_WAY)
}

fn datagrams(
    controller: Scripted,
    config: DatagramConfig,
) -> Pipe<DatagramSender<Scripted>, DatagramReceiver> {
    let receiver = DatagramReceiver::new(FLOW, config.clone());
    Pipe::new(DatagramSender::new(FLOW, config, controller, AnySource::infinite()), receiver, ONE_WAY)
}

fn seconds(value: f64) -> Time {
    Time::from_secs_f64(value)
}

/// Departure times of data in nanoseconds.
fn times<A: Endpoint, B: Endpoint>(pipe: &Pipe<A, B>) -> Vec<u64> {
    pipe.departures.iter().filter(|d| d.packet.kind() == Kind::Data).map(|d| d.at.as_nanos()).collect()
}

#[test]
fn a_window_bounds_both_kinds() {
    let test = stream(Scripted::window(7)).start().run(Span::from_millis(950));
    assert_eq!(test.departures.len(), 7 * 10);
    let acks = DatagramConfig { acks: true, ..DatagramConfig::default() };
    let test = datagrams(Scripted::window(7), acks).start().run(Span::from_millis(950));
    assert_eq!(test.departures.len(), 7 * 10);
}

#[test]
fn a_changed_window_counts_at_the_controllers_timer() {
    let grown = Directive::window(Bytes::new(9000));
    let test = stream(Scripted::window(2).at(seconds(0.01), grown)).start().run(Span::from_millis(90));
    assert_eq!(test.sent_at(0).len(), 2);
    assert_eq!(test.sent_at(10).len(), 7);
}

#[test]
fn a_window_below_a_packet_lets_one_go_and_zero_none() {
    let small = Scripted::new(Directive::window(Bytes::new(300)));
    let test = stream(small).start().run(Span::from_millis(950));
    assert_eq!(test.departures.len(), 10);
    let test = stream(Scripted::window(0)).start().run(Span::from_secs(1));
    assert_eq!(test.departures.len(), 0);
}

#[test]
fn a_rate_paces_both_kinds() {
    let paced = || Scripted::new(Directive::rate(MBIT));
    let of_stream = times(&stream(paced()).start().run(Span::from_secs(10)));
    let of_datagrams = times(&datagrams(paced(), DatagramConfig::default()).start().run(Span::from_secs(10)));
    for times in [of_stream, of_datagrams] {
        assert_eq!(times.len(), 1251, "1 Mbit/s in packets of 1000 B, and the first at once");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 8_000_000));
    }
}

#[test]
fn a_window_paced_by_configuration_leaves_evenly_and_is_used_up() {
    let config = StreamConfig { pacing: Some(PacingConfig::default()), ..StreamConfig::default() };
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let sender = Sender::new(FLOW, config, Scripted::window(10), AnySource::infinite());
    let times = times(&Pipe::new(sender, receiver, ONE_WAY).start().run(Span::from_millis(2999)));
    assert!(times[..10].iter().all(|at| *at == 0), "before the first round trip the window leaves at once");
    // 1.25 · 10 packets per 100 ms: one in 8 ms at most, ten in a round trip of 100 ms.
    assert!(times[30..].windows(2).all(|pair| pair[1] - pair[0] >= 7_900_000), "{times:?}");
    assert!(times.len() >= 295, "the window is used: {}", times.len());
}

#[test]
fn a_rate_within_a_window_is_bound_by_both() {
    let both = Directive { window: Some(Bytes::new(5000)), ..Directive::rate(MBIT) };
    let test = stream(Scripted::new(both)).start().run(Span::from_millis(999));
    // Five packets spaced by 8 ms, then nothing until the first is acknowledged at 100 ms.
    assert_eq!(test.sent()[..6], [(0, 0), (8, 1), (16, 2), (24, 3), (32, 4), (100, 5)]);
}

#[test]
fn a_changed_rate_counts_at_once() {
    let slow = Directive::rate(BitRate::from_bits_per_sec(100_000));
    let test =
        datagrams(Scripted::new(slow).at(seconds(0.2), Directive::rate(MBIT)), DatagramConfig::default());
    let test = test.start().run(Span::from_millis(230));
    // 80 ms apart at first; at 200 ms half a packet's tokens are there, the rest takes 4 ms.
    assert_eq!(test.sent().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 80, 160, 204, 212, 220, 228]);
}

#[test]
fn a_burst_leaves_back_to_back_after_a_pause() {
    let burst = Burst { depth: Bytes::new(4000), tokens: Tokens::Constant };
    let closed = Directive { burst, gate: Gate::Closed { until: None }, ..Directive::rate(MBIT) };
    let open = Directive { burst, ..Directive::rate(MBIT) };
    let test = datagrams(Scripted::new(closed).at(seconds(1.0), open), DatagramConfig::default());
    let test = test.start().run(Span::from_millis(1018));
    assert_eq!(
        test.sent().iter().map(|(at, _)| *at).collect::<Vec<_>>(),
        [1000, 1000, 1000, 1000, 1008, 1016]
    );
}

#[test]
fn poisson_tokens_space_packets_exponentially() {
    let burst = Burst { depth: Bytes::ZERO, tokens: Tokens::Poisson };
    let poisson = Directive { burst, ..Directive::rate(MBIT) };
    for times in [
        times(&stream(Scripted::new(poisson)).start().run(Span::from_secs(200))),
        times(
            &datagrams(Scripted::new(poisson), DatagramConfig::default()).start().run(Span::from_secs(200)),
        ),
    ] {
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 8.0).abs() < 0.15, "{mean} ms");
        assert!((square / (mean * mean) - 2.0).abs() < 0.1, "an exponential's: {}", square / (mean * mean));
    }
}

#[test]
fn a_timeout_leaves_one_token() {
    // Tokens for ten gather while nothing can be sent; the whole first window is lost.
    let burst = Burst { depth: Bytes::new(10_000), tokens: Tokens::Constant };
    let directive = Directive { window: Some(Bytes::new(3000)), burst, ..Directive::rate(MBIT) };
    let controller = Scripted { on_timeout: Some(3000), ..Scripted::new(directive) };
    let test = stream(controller).dropping(&[(0, 1), (1, 1), (2, 1)]).start().run(Span::from_millis(1099));
    let after: Vec<u64> = test.sent().iter().map(|(at, _)| *at).filter(|at| *at >= 900).collect();
    assert_eq!(after, [1000, 1008, 1016], "one token, then at the rate");
}

/// An offer of one packet's payload every 10 ms.
struct Clockwork {
    next: Option<Time>,
    done: u32,
}

impl Source for Clockwork {
    fn start(&mut self, now: Time, _: &mut tailback_core::Stream) {
        self.next = Some(now);
    }
    fn next_offer(&self) -> Option<Time> {
        self.next
    }
    fn take_offer(&mut self, now: Time, _: &mut tailback_core::Stream) -> Option<Offer> {
        let due = self.next.filter(|at| *at <= now)?;
        self.next = Some(due + Span::from_millis(10));
        Some(Offer { bytes: Bytes::new(960), new_connection: false, ends_message: true })
    }
    fn on_message_done(&mut self, _: Time, _: &mut tailback_core::Stream) {
        self.done += 1;
    }
    fn is_finished(&self) -> bool {
        self.next.is_none()
    }
    fn stop(&mut self, _: Time) {
        self.next = None;
    }
}

fn clockwork(controller: Scripted) -> Pipe<DatagramSender<Scripted, Clockwork>, DatagramReceiver> {
    let config = DatagramConfig::default();
    let source = Clockwork { next: None, done: 0 };
    let sender = DatagramSender::new(FLOW, config.clone(), controller, source);
    Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY)
}

fn free() -> Directive {
    Directive { window: None, ..Directive::window(Bytes::MAX) }
}

#[test]
fn a_closed_gate_discards_what_is_offered() {
    let closed = Directive { gate: Gate::Closed { until: None }, ..free() };
    let controller = Scripted::new(free()).at(seconds(0.095), closed).at(seconds(0.295), free());
    let test = clockwork(controller).start().run(Span::from_millis(395));
    let at: Vec<u64> = test.sent().iter().map(|(at, _)| *at).collect();
    let expected: Vec<u64> = (0..10).chain(30..40).map(|step| step * 10).collect();
    assert_eq!(at, expected);
    assert_eq!(test.sender.counters().gated, 20);
    assert_eq!(test.sender.observe().gated_packets, 20);
    assert_eq!(test.sender.source().done, 40, "discarded messages are reported, too");
    // A stream keeps its data and goes on.
    let controller =
        Scripted::window(4).at(seconds(0.05), Directive { gate: Gate::Closed { until: None }, ..free() });
    let controller = controller.at(seconds(0.5), Directive::window(Bytes::new(4000)));
    let test = stream(controller).start().run(Span::from_millis(550));
    assert_eq!(test.sent().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 0, 0, 0, 500, 500, 500, 500]);
}

#[test]
fn a_full_buffer_discards_what_is_offered() {
    let config = DatagramConfig { buffer: "3 packets".parse().unwrap(), ..DatagramConfig::default() };
    let source = Clockwork { next: None, done: 0 };
    let controller = Scripted::new(Directive::rate(BitRate::from_bits_per_sec(80_000)));
    let sender = DatagramSender::new(FLOW, config.clone(), controller, source);
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let test = test.run(Span::from_millis(995));
    // A packet takes 100 ms: ten leave, three wait, of a hundred offered.
    assert_eq!(test.departures.len(), 10);
    assert_eq!(test.sender.counters().overflowed, 100 - 13);
}

/// What the application should make is told to it; data that waits leaves at the rate. A source without end keeps to both.
#[test]
fn media_are_made_at_their_own_rate_and_leave_at_the_other() {
    let media = Directive { media: Some(MBIT), ..Directive::rate(BitRate::from_bits_per_sec(4_000_000)) };
    let times =
        times(&datagrams(Scripted::new(media), DatagramConfig::default()).start().run(Span::from_secs(1)));
    assert_eq!(times.len(), 126, "1 Mbit/s in packets of 1000 B, and the first at once");
    let config = DatagramConfig::default();
    let source = Frames { rate: None, next: Some(Time::ZERO) };
    let sender = DatagramSender::new(FLOW, config.clone(), Scripted::new(media), source);
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let test = test.run(Span::from_millis(95));
    assert_eq!(test.sent().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
    let told = test.sender.source().rate.map(BitRate::bits_per_sec);
    assert_eq!(told, Some(960_000), "headers are not the application's");
}

/// Also where no rate, or none yet, is directed beside.
#[test]
fn media_need_no_rate_beside() {
    let media = Directive { media: Some(MBIT), ..free() };
    let fast = Directive { rate: Some(BitRate::from_bits_per_sec(4_000_000)), ..media };
    // A window holds the source before any media are directed.
    let acks = DatagramConfig { acks: true, ..DatagramConfig::default() };
    let first = Scripted::window(4).at(seconds(0.1), media).at(seconds(0.5), fast);
    let test = datagrams(first, acks).start().run(Span::from_secs(1));
    let times = times(&test);
    assert_eq!(times.iter().filter(|at| **at > 100_000_000).count(), 112, "1 Mbit/s in packets of 1000 B");
    let config = DatagramConfig::default();
    let source = Frames { rate: None, next: Some(Time::ZERO) };
    let sender = DatagramSender::new(FLOW, config.clone(), Scripted::new(media), source);
    let test = Pipe::new(sender, DatagramReceiver::new(FLOW, config), ONE_WAY).start();
    let test = test.run(Span::from_millis(95));
    let told = test.sender.source().rate.map(BitRate::bits_per_sec);
    assert_eq!(told, Some(960_000), "headers are not the application's");
}

/// A frame of five packets each 100 ms, which notes the rate that it is told.
struct Frames {
    rate: Option<BitRate>,
    next: Option<Time>,
}

impl Source for Frames {
    fn start(&mut self, _: Time, _: &mut tailback_core::Stream) {}

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, _: &mut tailback_core::Stream) -> Option<Offer> {
        let due = self.next.filter(|due| *due <= now)?;
        self.next = Some(due + Span::from_millis(100));
        Some(Offer { bytes: Bytes::new(5 * 960), new_connection: false, ends_message: true })
    }

    fn tell(&mut self, hint: tailback_core::AppHint) {
        self.rate = hint.rate;
    }

    fn on_message_done(&mut self, _: Time, _: &mut tailback_core::Stream) {}

    fn is_finished(&self) -> bool {
        false
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
    }
}
