//! The proof that nothing leans on the simulator: 10 MB between two endpoints over real UDP sockets on loopback, with
//! loss injected each way, arrive whole.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::common::plain::{Rough, driver};
use sha2::{Digest, Sha256};
use tailback_control::schemes::{Bbr1, Bbr1Config};
use tailback_control::{SCHEMES, SchemeConfig};
use tailback_core::{
    AckFrequency, AckWish, AppHint, Bytes, Controller, Cx, DataAmount, Directive, Endpoint, Event, Feedback,
    FlowId, Observation, Sent, Span, Stream, Time,
};
use tailback_net::{Clock, ReceiveBuffer, SendBuffer};
use tailback_transport::source::AnySource;
use tailback_transport::{Receiver, ReceiverConfig, RtoConfig, Sender, StreamConfig};

const FLOW: FlowId = FlowId(3);
const SIZE: usize = 10_000_000;
/// Far beyond what is needed; only a hang gets there.
const DEADLINE: Time = Time::from_nanos(120_000_000_000);
const TURN: Span = Span::from_millis(20);

fn sockets() -> (UdpSocket, UdpSocket) {
    let bind = || UdpSocket::bind("127.0.0.1:0").expect("a loopback socket");
    let (a, b) = (bind(), bind());
    a.connect(b.local_addr().expect("bound")).expect("connects");
    b.connect(a.local_addr().expect("bound")).expect("connects");
    (a, b)
}

fn config(scheme: &str) -> StreamConfig {
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    StreamConfig {
        reliability: info.reliability,
        segment_size: Bytes::new(1440),
        // Below the sockets' default buffers, and loopback's round trips need no long time-outs.
        window_limit: Some(DataAmount::Packets(64.0)),
        rto: RtoConfig {
            min: Span::from_millis(10),
            initial: Span::from_millis(50),
            max: Span::from_secs(1),
            ..RtoConfig::default()
        },
        ..StreamConfig::default()
    }
}

fn rough(name: &str) -> Rough {
    Rough { loss: 0.02, reorder: 0.005, hold: Span::from_micros(300), rng: Stream::new(20, name) }
}

/// What came of a transfer.
struct Moved {
    arrived: Vec<u8>,
    /// Frames lost on purpose on the way there.
    lost: u64,
    receiver: Observation,
}

/// Moves `data` under a controller, both ways impaired or not.
fn transfer<C: Controller>(config: StreamConfig, controller: C, impaired: bool, data: &[u8]) -> Moved {
    let header = config.header;
    let rough = move |name| impaired.then(|| rough(name));
    let ack_requests = config.ack_requests;
    let receiver_config = ReceiverConfig { delivery_events: true, ack_requests, ..ReceiverConfig::default() };
    let receiver = Receiver::new(FLOW, receiver_config.matching(&config));
    let sender = Sender::new(FLOW, config, controller, AnySource::pushed()).with_hints();
    let (here, there) = sockets();

    let done = Arc::new(AtomicBool::new(false));
    let finished = Arc::clone(&done);
    let size = data.len();
    let reader = thread::spawn(move || {
        let rng = Stream::new(1, "receiver");
        let buffer = ReceiveBuffer::new(header, Bytes::new(1_000_000));
        let mut driver = driver(there, FLOW, receiver, buffer, rng, rough("acks")).expect("a driver");
        let (clock, mut arrived) = (Clock::start(), Vec::with_capacity(size));
        while !finished.load(Ordering::Relaxed) && clock.now() < DEADLINE {
            driver.turn(TURN).expect("the receiver goes on");
            arrived.extend(driver.read());
        }
        (arrived, driver.endpoint().observe())
    });

    let buffer = SendBuffer::new(header);
    let rng = Stream::new(1, "sender");
    let mut driver = driver(here, FLOW, sender, buffer, rng, rough("data")).expect("a driver");
    let clock = Clock::start();
    let mut pieces = data.chunks(100_000);
    let (mut open, mut told) = (true, 0);
    loop {
        while open && driver.kept() < 500_000 {
            if let Some(piece) = pieces.next() {
                driver.write(piece).expect("writes");
            } else {
                driver.close().expect("closes");
                open = false;
            }
        }
        let events = driver.turn(TURN).expect("the sender goes on");
        let rates = events.iter().filter(|event| matches!(event, Event::Hint(AppHint { rate: Some(_), .. })));
        told += rates.count();
        if events.contains(&Event::Finished) {
            break;
        }
        assert!(clock.now() < DEADLINE, "{} bytes still unacknowledged", driver.kept());
    }
    assert!(told > 1, "the application hears of the rate that it may use");
    done.store(true, Ordering::Relaxed);
    assert_eq!(driver.kept(), 0);
    let lost = driver.channel().lost;
    let (arrived, receiver) = reader.join().expect("the receiver ends");
    Moved { arrived, lost, receiver }
}

fn noise(name: &str) -> Vec<u8> {
    let mut rng = Stream::new(9, name);
    (0..SIZE).map(|_| rng.below(256) as u8).collect()
}

fn ten_megabytes_arrive_whole(scheme: &str) {
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    let config = config(scheme);
    let parts = (info.default)().build(&config.controller_params());
    let data = noise(scheme);
    let Moved { arrived, lost, .. } = transfer(config, parts.controller, true, &data);
    assert_eq!(arrived.len(), SIZE, "{scheme}");
    assert_eq!(Sha256::digest(&arrived), Sha256::digest(&data), "{scheme}");
    // 7143 packets at 2 %: 143, with a standard deviation of 12; retransmissions add to it.
    assert!(lost > 80, "{scheme}: only {lost} packets were lost, so that nothing is proven");
}

#[test]
fn sack_over_udp() {
    ten_megabytes_arrive_whole("sack");
}

#[test]
fn newreno_over_udp() {
    ten_megabytes_arrive_whole("newreno");
}

#[test]
fn cubic_over_udp() {
    ten_megabytes_arrive_whole("cubic");
}

#[test]
fn reno_over_udp() {
    ten_megabytes_arrive_whole("reno");
}

/// A window of 64 packets, acknowledged by sixteens.
struct Sixteens;

impl Controller for Sixteens {
    fn on_feedback(&mut self, _: Time, _: &Feedback<'_>, _: &mut Cx<'_>) {}

    fn directive(&self) -> Directive {
        Directive::window(Bytes::new(64 * 1440))
    }

    fn ack_wish(&self) -> AckWish {
        let frequency = AckFrequency { threshold: 16, max_delay: Span::from_millis(20) };
        AckWish { frequency: Some(frequency), immediate: 0 }
    }
}

#[test]
fn requests_for_acknowledgements_are_heeded_over_udp() {
    let data = noise("sixteens");
    let mut shares = [0.0; 2];
    for (asks, share) in [false, true].into_iter().zip(&mut shares) {
        let config = StreamConfig { ack_requests: asks, ..config("sack") };
        let Moved { arrived, receiver, .. } = transfer(config, Sixteens, false, &data);
        assert!(arrived == data);
        *share = receiver.sent_packets as f64 / receiver.received_packets as f64;
    }
    assert!(shares[0] == 1.0, "{shares:?}");
    // A sixteenth, and where this machine has paused for so long that the timer came first, some more; with impairments on
    // both ways everything arrives as well.
    assert!((0.06..0.2).contains(&shares[1]), "{shares:?}");
    let config = StreamConfig { ack_requests: true, ..config("sack") };
    let Moved { arrived, lost, .. } = transfer(config, Sixteens, true, &data);
    assert!(arrived == data && lost > 80);
}

#[test]
fn foreign_datagrams_are_refused() {
    let (here, there) = sockets();
    let header = Bytes::new(40);
    let receiver = Receiver::new(FLOW, ReceiverConfig::default());
    let buffer = ReceiveBuffer::new(header, Bytes::new(10_000));
    let mut driver =
        driver(there, FLOW, receiver, buffer, Stream::new(1, "receiver"), None).expect("a driver");
    let mut rng = Stream::new(2, "noise");
    for length in 0..200 {
        let noise: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
        here.send(&noise).expect("sends");
    }
    let clock = Clock::start();
    while driver.counters().received < 200 && clock.now() < DEADLINE {
        driver.turn(TURN).expect("noise is no error");
    }
    assert_eq!(driver.counters().refused, 200);
    assert_eq!(driver.counters().sent, 0);
    assert_eq!(driver.read(), Vec::<u8>::new());
}

#[test]
fn a_datagram_that_is_too_long_for_the_way_is_an_error_that_says_so() {
    let (socket, _peer) = sockets();
    let config = StreamConfig { segment_size: Bytes::new(65_535), ..config("reno") };
    let info = SCHEMES.iter().find(|info| info.name == "reno").expect("registered");
    let parts = (info.default)().build(&config.controller_params());
    let header = config.header;
    let sender = Sender::new(FLOW, config, parts.controller, AnySource::pushed());
    let buffer = SendBuffer::new(header);
    let mut driver = driver(socket, FLOW, sender, buffer, Stream::new(1, "sender"), None).expect("a driver");
    let error = driver.write(&vec![7; 200_000]).expect_err("beyond what UDP carries");
    assert!(error.to_string().contains("is longer than the way to the peer takes"), "{error}");
}

/// A controller from outside the library, which counts its samples.
struct Counting(Bbr1, Arc<AtomicU64>);

impl Controller for Counting {
    fn on_sent(&mut self, now: Time, sent: &mut Sent, cx: &mut Cx<'_>) {
        self.0.on_sent(now, sent, cx);
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, cx: &mut Cx<'_>) {
        let delivered = feedback.delivery.map_or(0, |sample| sample.newly_acked.get());
        self.1.fetch_add(delivered, Ordering::Relaxed);
        self.0.on_feedback(now, feedback, cx);
    }

    fn directive(&self) -> Directive {
        self.0.directive()
    }
}

/// Samples are the endpoints' own, and reach a custom controller over real sockets as they do in the simulator.
#[test]
fn samples_of_the_delivery_rate_reach_a_custom_controller() {
    let scheme = Bbr1Config::default();
    let config = config("bbr1").serving(&scheme.needs());
    let counted = Arc::new(AtomicU64::new(0));
    let controller = Counting(Bbr1::new(&scheme, &config.controller_params()), Arc::clone(&counted));
    let data = vec![7; 1_000_000];
    let Moved { arrived, .. } = transfer(config, controller, true, &data);
    assert_eq!(arrived.len(), data.len());
    // 1400 bytes of data in 1440 on the wire; the samples' sum misses nothing.
    assert!(counted.load(Ordering::Relaxed) >= 1_000_000 / 1400 * 1440);
}
