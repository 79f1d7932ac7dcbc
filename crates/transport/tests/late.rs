//! Senders that are called later than they want to be, as by a system that wakes sleepers late: a rate is kept, and what was missed
//! in a long pause is not made up for in one burst.

use crate::pipe;

use pipe::{FLOW, Pipe, Scripted};
use tailback_core::{BitRate, Burst, Bytes, Directive, Endpoint, Kind, ProbePlan, Span, Stream, Tokens};
use tailback_transport::source::AnySource;
use tailback_transport::{
    DatagramConfig, DatagramReceiver, DatagramSender, Receiver, ReceiverConfig, Sender, StreamConfig,
};

const ONE_WAY: Span = Span::from_millis(5);
const RATE: BitRate = BitRate::from_bits_per_sec(100_000_000);
const SECONDS: u64 = 2;

/// As measured of a laboratory's hosts: up to 40 µs, and 1.5 ms now and then.
fn as_a_system(rng: &mut Stream) -> Span {
    Span::from_micros(if rng.below(3000) == 0 { 1500 } else { rng.below(40) })
}

fn stream(directive: Directive, lateness: fn(&mut Stream) -> Span) -> Pipe<Sender<Scripted>, Receiver> {
    let config = StreamConfig::default();
    let receiver = Receiver::new(FLOW, ReceiverConfig::default().matching(&config));
    let sender = Sender::new(FLOW, config, Scripted::new(directive), AnySource::infinite());
    Pipe::new(sender, receiver, ONE_WAY).calling_late(lateness).start().run(Span::from_secs(SECONDS))
}

fn datagrams(
    directive: Directive,
    lateness: fn(&mut Stream) -> Span,
) -> Pipe<DatagramSender<Scripted>, DatagramReceiver> {
    let config = DatagramConfig::default();
    let receiver = DatagramReceiver::new(FLOW, config.clone());
    let sender = DatagramSender::new(FLOW, config, Scripted::new(directive), AnySource::infinite());
    Pipe::new(sender, receiver, ONE_WAY).calling_late(lateness).start().run(Span::from_secs(SECONDS))
}

/// What left, as a part of the rate.
fn share<A: Endpoint, B: Endpoint>(pipe: &Pipe<A, B>) -> f64 {
    let data = pipe.departures.iter().filter(|departure| departure.packet.kind() == Kind::Data);
    let bytes: u64 = data.map(|departure| departure.packet.size().get()).sum();
    8.0 * bytes as f64 / (RATE.bits_per_sec() as f64 * SECONDS as f64)
}

#[test]
fn a_rate_is_kept_though_each_call_is_late() {
    let rate = Directive::rate(RATE);
    let poisson = Directive { burst: Burst { depth: Bytes::new(20_000), tokens: Tokens::Poisson }, ..rate };
    let pairs =
        Directive { probe: Some(ProbePlan::DataPairs { singleton_timeout: Span::from_secs(1) }), ..rate };
    for (directive, tolerance) in [(rate, 0.005), (poisson, 0.02), (pairs, 0.005)] {
        let shares = [share(&stream(directive, as_a_system)), share(&datagrams(directive, as_a_system))];
        for share in shares {
            assert!((share - 1.0).abs() < tolerance, "{share} of the rate, by {directive:?}");
        }
    }
}

#[test]
fn a_pause_is_made_up_for_by_a_millisecond() {
    let lateness = |rng: &mut Stream| Span::from_millis(if rng.below(200) == 0 { 30 } else { 0 });
    // Nothing else calls it: streams have acknowledgements, too.
    let departures = datagrams(Directive::rate(RATE), lateness).path.departures;
    let at_once = departures.chunk_by(|a, b| a.at == b.at).map(<[_]>::len).max();
    let size = departures[0].packet.size().as_f64();
    let most = 1.0 + RATE.bits_per_sec() as f64 / 8.0 * 1e-3 / size;
    // One that was due, and those of a millisecond.
    assert_eq!(at_once, Some(most as usize), "of {size} bytes");
}
