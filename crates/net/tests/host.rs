//! Many flows over one socket, in one loop; and packets that are taken for the time at which they came, not for that at which
//! they were read.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use crate::common::plain::driver;
use tailback_control::SCHEMES;
use tailback_core::{
    Bytes, Endpoint, EndpointCx, Event, FlowId, Input, Kind, Output, Packet, Span, Stream, Time,
};
use tailback_net::{Clock, Happened, Payload, UdpHost, Way};
use tailback_transport::source::AnySource;
use tailback_transport::wire::{Frame, decode, encode};
use tailback_transport::{Receiver, ReceiverConfig, RtoConfig, Sender, StreamConfig};

const FLOWS: u32 = 40;
const SIZE: u64 = 60_000;
const DEADLINE: Time = Time::from_nanos(60_000_000_000);

fn bound() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a loopback socket");
    let address = socket.local_addr().expect("bound");
    (socket, address)
}

fn way(to: SocketAddr) -> Way {
    Way { to, from: None }
}

/// A stream in which every byte tells its flow and its place.
struct Told {
    flow: FlowId,
    header: u64,
    next: u64,
    places: Vec<u64>,
    bytes: Vec<u8>,
    received: u64,
}

impl Told {
    fn new(flow: FlowId, header: Bytes) -> Self {
        Self { flow, header: header.get(), next: 0, places: Vec::new(), bytes: Vec::new(), received: 0 }
    }

    fn byte(&self, place: u64) -> u8 {
        (place ^ u64::from(self.flow.0).wrapping_mul(0x9e37_79b9)).to_le_bytes().iter().fold(7, |a, b| a ^ b)
    }
}

impl Payload for Told {
    fn outgoing(&mut self, packet: &Packet) -> Option<(u64, &[u8])> {
        let length = packet.size().get() - self.header;
        let number = packet.number as usize;
        if number == self.places.len() {
            self.places.push(self.next);
            self.next += length;
        }
        let place = *self.places.get(number)?;
        self.bytes = (place..place + length).map(|place| self.byte(place)).collect();
        Some((place, &self.bytes))
    }

    fn incoming(&mut self, frame: &Frame<'_>) -> bool {
        frame.payload.iter().zip(frame.offset..).all(|(byte, place)| *byte == self.byte(place))
    }

    fn delivered(&mut self, bytes: Bytes) -> bool {
        self.received += bytes.get();
        self.received <= SIZE
    }
}

fn config(scheme: &str) -> StreamConfig {
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    let rto =
        RtoConfig { min: Span::from_millis(10), initial: Span::from_millis(50), ..RtoConfig::default() };
    StreamConfig { reliability: info.reliability, rto, ..StreamConfig::default() }
}

fn add_sender<P: Payload>(host: &mut UdpHost<Sender, P>, flow: FlowId, to: SocketAddr, payload: P) {
    let scheme = ["cubic", "sack", "vegas", "newreno"][flow.0 as usize % 4];
    let config = config(scheme);
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    let law = (info.default)().build(&config.controller_params()).controller;
    let sender = Sender::new(flow, config, law, AnySource::finite(Bytes::new(SIZE)));
    host.add(flow, way(to), sender, payload, Stream::new(u64::from(flow.0), "sender")).expect("added");
}

fn add_receiver(host: &mut UdpHost<Receiver, Told>, flow: FlowId, to: SocketAddr) {
    let scheme = ["cubic", "sack", "vegas", "newreno"][flow.0 as usize % 4];
    let config = config(scheme);
    let receiver_config = ReceiverConfig { delivery_events: true, ..ReceiverConfig::default() };
    let receiver = Receiver::new(flow, receiver_config.matching(&config));
    let payload = Told::new(flow, config.header);
    host.add(flow, way(to), receiver, payload, Stream::new(u64::from(flow.0), "receiver")).expect("added");
}

/// Both sides' turns until a flow has finished: which had, and which ended before, with what was told of them.
fn until_one_finishes<P: Payload, Q: Payload>(
    clock: Clock,
    senders: &mut UdpHost<Sender, P>,
    receivers: &mut UdpHost<Receiver, Q>,
) -> (Vec<FlowId>, Vec<(FlowId, String)>) {
    let (mut finished, mut ended) = (Vec::new(), Vec::new());
    while finished.is_empty() {
        for (flow, happened) in senders.turn(Span::from_micros(200)).expect("goes on") {
            match happened {
                Happened::Event(Event::Finished) => finished.push(flow),
                Happened::Event(_) => {}
                Happened::Ended(error) => ended.push((flow, error.to_string())),
            }
        }
        receivers.turn(Span::from_micros(200)).expect("goes on");
        assert!(clock.now() < DEADLINE, "{finished:?}, {ended:?}");
    }
    (finished, ended)
}

#[test]
fn forty_flows_over_one_socket_arrive_whole() {
    let ((here, sender_at), (there, receiver_at)) = (bound(), bound());
    let clock = Clock::start();
    let mut senders = UdpHost::new(here, clock).expect("a host");
    let mut receivers = UdpHost::new(there, clock).expect("a host");
    for flow in (0..FLOWS).map(FlowId) {
        add_receiver(&mut receivers, flow, sender_at);
        add_sender(&mut senders, flow, receiver_at, Told::new(flow, config("sack").header));
    }
    let (mut finished, mut delivered) = (0, 0);
    while finished < FLOWS {
        for (flow, happened) in senders.turn(Span::from_micros(200)).expect("goes on") {
            match happened {
                Happened::Event(Event::Finished) => finished += 1,
                Happened::Event(_) => {}
                Happened::Ended(error) => panic!("flow {}: {error}", flow.0),
            }
        }
        for (flow, happened) in receivers.turn(Span::from_micros(200)).expect("goes on") {
            match happened {
                Happened::Event(Event::Delivered(bytes)) => delivered += bytes.get(),
                Happened::Event(_) => {}
                Happened::Ended(error) => panic!("flow {}: {error}", flow.0),
            }
        }
        assert!(clock.now() < DEADLINE, "{finished} of {FLOWS} flows have finished");
    }
    assert_eq!(delivered, u64::from(FLOWS) * SIZE);
    assert_eq!(receivers.counters().refused, 0);
}

/// A payload that has none.
struct Nothing;

impl Payload for Nothing {
    fn outgoing(&mut self, _: &Packet) -> Option<(u64, &[u8])> {
        None
    }

    fn incoming(&mut self, _: &Frame<'_>) -> bool {
        true
    }

    fn delivered(&mut self, _: Bytes) -> bool {
        true
    }
}

/// Either, by flow.
enum Mixed {
    Told(Told),
    Nothing(Nothing),
}

impl Payload for Mixed {
    fn outgoing(&mut self, packet: &Packet) -> Option<(u64, &[u8])> {
        match self {
            Self::Told(told) => told.outgoing(packet),
            Self::Nothing(nothing) => nothing.outgoing(packet),
        }
    }

    fn incoming(&mut self, _: &Frame<'_>) -> bool {
        true
    }

    fn delivered(&mut self, _: Bytes) -> bool {
        true
    }
}

#[test]
fn what_goes_wrong_with_one_flow_is_told_of_it_and_the_others_go_on() {
    let ((here, sender_at), (there, receiver_at)) = (bound(), bound());
    let clock = Clock::start();
    let mut senders = UdpHost::new(here, clock).expect("a host");
    let mut receivers = UdpHost::new(there, clock).expect("a host");
    let header = config("sack").header;
    for flow in [FlowId(1), FlowId(2)] {
        add_receiver(&mut receivers, flow, sender_at);
        let payload =
            if flow.0 == 1 { Mixed::Nothing(Nothing) } else { Mixed::Told(Told::new(flow, header)) };
        add_sender(&mut senders, flow, receiver_at, payload);
    }
    let error = senders
        .add(
            FlowId(2),
            way(receiver_at),
            Sender::new(FlowId(2), config("sack"), law("sack"), AnySource::finite(Bytes::new(1))),
            Mixed::Nothing(Nothing),
            Stream::new(1, "again"),
        )
        .expect_err("there is one already");
    assert!(error.to_string().contains("flow 2"), "{error}");
    // A stranger's acknowledgement of everything, and one of a flow that nobody has.
    let (stranger, _) = bound();
    for flow in [FlowId(2), FlowId(77)] {
        stranger.send_to(&ack(flow, 1000), sender_at).expect("sends");
    }
    let (finished, ended) = until_one_finishes(clock, &mut senders, &mut receivers);
    assert_eq!((finished, ended.len(), ended[0].0), (vec![FlowId(2)], 1, FlowId(1)));
    assert!(ended[0].1.contains("no payload"), "{ended:?}");
    assert_eq!(senders.counters().refused, 2);
}

/// What the system refuses is told of the flow whose it is, although it leaves in another one's turn or with another one's train.
#[test]
fn datagrams_that_the_system_refuses_end_their_own_flow_and_no_other() {
    let ((here, sender_at), (there, receiver_at)) = (bound(), bound());
    let clock = Clock::start();
    let mut senders = UdpHost::new(here, clock).expect("a host");
    let mut receivers = UdpHost::new(there, clock).expect("a host");
    // Longer than any datagram, and one that leaves beside it.
    let long = StreamConfig { segment_size: Bytes::new(65_535), ..config("cubic") };
    for flow in [FlowId(4), FlowId(8)] {
        add_receiver(&mut receivers, flow, sender_at);
    }
    let payload = Told::new(FlowId(4), long.header);
    let sender = Sender::new(FlowId(4), long, law("cubic"), AnySource::finite(Bytes::new(1_000_000)));
    senders
        .add(FlowId(4), way(receiver_at), sender, payload, Stream::new(4, "sender"))
        .expect("what goes wrong is told later");
    add_sender(&mut senders, FlowId(8), receiver_at, Told::new(FlowId(8), config("cubic").header));
    let (finished, ended) = until_one_finishes(clock, &mut senders, &mut receivers);
    assert_eq!((finished, ended.len(), ended[0].0), (vec![FlowId(8)], 1, FlowId(4)));
    assert!(ended[0].1.contains("is longer than the way to the peer takes"), "{ended:?}");
}

/// An endpoint that sends one packet of so many bytes at this time.
struct Once {
    flow: FlowId,
    size: u64,
    due: Time,
    has_sent: bool,
}

impl Endpoint for Once {
    fn handle(&mut self, _: Time, _: Input, _: &mut EndpointCx<'_>) {}

    fn poll(&mut self, now: Time, _: &mut EndpointCx<'_>) -> Output {
        if self.has_sent || now < self.due {
            return Output::Wait((!self.has_sent).then_some(self.due));
        }
        self.has_sent = true;
        Output::Transmit(Packet::new(Kind::Data, self.flow, 0, Bytes::new(self.size)))
    }
}

/// So many bytes of payload.
struct Blank(Vec<u8>);

impl Payload for Blank {
    fn outgoing(&mut self, _: &Packet) -> Option<(u64, &[u8])> {
        Some((0, &self.0))
    }

    fn incoming(&mut self, _: &Frame<'_>) -> bool {
        true
    }

    fn delivered(&mut self, _: Bytes) -> bool {
        true
    }
}

/// What is too long leaves in the turn of the flow that comes next, before whose datagram it must go; that one is not blamed.
#[test]
fn a_flow_is_not_blamed_for_what_leaves_in_its_turn() {
    let ((here, _), (there, at)) = (bound(), bound());
    there.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let clock = Clock::start();
    let mut host = UdpHost::new(here, clock).expect("a host");
    let due = clock.now() + Span::from_millis(50);
    for (flow, size) in [(1, 65_535), (2, 500), (3, 500)] {
        let endpoint = Once { flow: FlowId(flow), size, due, has_sent: false };
        let payload = Blank(vec![0; size as usize - 40]);
        host.add(FlowId(flow), way(at), endpoint, payload, Stream::new(1, "x")).expect("added");
    }
    let mut told = Vec::new();
    while told.is_empty() {
        assert!(clock.now() < DEADLINE, "nothing is told");
        told.extend(host.turn(Span::from_millis(10)).expect("goes on"));
    }
    told.extend(host.turn(Span::ZERO).expect("goes on"));
    let [(FlowId(1), Happened::Ended(error))] = &told[..] else { panic!("{told:?}") };
    assert!(error.to_string().contains("is longer than the way to the peer takes"), "{error}");
    let mut buffer = [0; 2000];
    for flow in [2, 3] {
        let length = there.recv(&mut buffer).expect("arrives");
        assert_eq!(decode(&buffer[..length]).expect("a frame").packet.flow, FlowId(flow));
    }
    assert_eq!((host.counters().sent, host.counters().unsent), (2, 1));
}

fn law(scheme: &str) -> tailback_control::AnyController {
    let info = SCHEMES.iter().find(|info| info.name == scheme).expect("registered");
    (info.default)().build(&config(scheme).controller_params()).controller
}

fn ack(flow: FlowId, number: u64) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(&Packet::new(Kind::Ack, flow, number, Bytes::new(40)), None, 0, &[], &mut frame).expect("fits");
    frame
}

/// An endpoint that notes when packets come.
#[derive(Default)]
struct Notes(Vec<Time>);

impl Endpoint for Notes {
    fn handle(&mut self, now: Time, input: Input, _: &mut EndpointCx<'_>) {
        if matches!(input, Input::Packet(_)) {
            self.0.push(now);
        }
    }

    fn poll(&mut self, _: Time, _: &mut EndpointCx<'_>) -> Output {
        Output::Wait(None)
    }
}

/// Until the system has followed a wish, and more than it takes to read.
const SOON: Duration = Duration::from_millis(20);

/// Three datagrams 20 ms apart, read at once.
fn spaced(flow: FlowId, from: &UdpSocket, to: SocketAddr) {
    for number in 0..3 {
        thread::sleep(SOON);
        from.send_to(&ack(flow, number), to).expect("sends");
    }
}

/// Whether this system tells when datagrams came, by the clock that processes see. A sandbox may not, even where it takes
/// the wish for it. Asked with the system's own calls, so that a fault of the crate does not look like one of the system.
fn tells_times() -> bool {
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd;

    use nix::sys::socket::sockopt::ReceiveTimestampns;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use nix::time::{ClockId, clock_gettime};

    let ((here, at), (there, _)) = (bound(), bound());
    let (mut byte, mut room) = ([0], nix::cmsg_space!(libc::timespec));
    let wall = || Duration::from(clock_gettime(ClockId::CLOCK_REALTIME).expect("a clock on the wall"));
    let asked = setsockopt(&here, ReceiveTimestampns, &true);
    thread::sleep(SOON);
    let before = wall();
    let sent = there.send_to(&[1], at);
    let after = wall();
    thread::sleep(SOON);
    let told = asked.is_ok()
        && sent.is_ok()
        && recvmsg::<SockaddrStorage>(
            here.as_raw_fd(),
            &mut [IoSliceMut::new(&mut byte)],
            Some(&mut room),
            MsgFlags::empty(),
        )
        .is_ok_and(|message| {
            message.cmsgs().into_iter().flatten().any(|told| match told {
                ControlMessageOwned::ScmTimestampns(came) => (before..=after).contains(&came.into()),
                _ => false,
            })
        });
    if !told {
        println!("skipped: this system does not tell when datagrams came, by the clock that it shows");
    }
    told
}

fn check_spacing(times: &[Time]) {
    let gaps: Vec<Span> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert_eq!(gaps.len(), 2);
    assert!(gaps.iter().all(|gap| *gap >= Span::from_millis(19)), "{gaps:?}");
}

#[test]
fn a_driver_takes_packets_for_when_they_came() {
    let ((here, at), (there, peer)) = (bound(), bound());
    here.connect(peer).expect("connects");
    let flow = FlowId(5);
    let mut driver = driver(here, flow, Notes::default(), Nothing, Stream::new(1, "x"), None).unwrap();
    spaced(flow, &there, at);
    driver.turn(Span::ZERO).expect("reads");
    if tells_times() {
        check_spacing(&driver.endpoint().0);
    }
}

#[test]
fn a_host_takes_packets_for_when_they_came() {
    let ((here, at), (there, peer)) = (bound(), bound());
    let flow = FlowId(5);
    let mut host = UdpHost::new(here, Clock::start()).expect("a host");
    host.add(flow, way(peer), Notes::default(), Nothing, Stream::new(1, "x")).expect("added");
    spaced(flow, &there, at);
    host.turn(Span::ZERO).expect("reads");
    if tells_times() {
        check_spacing(&host.endpoint(flow).expect("is there").0);
    }
    host.remove(flow);
    spaced(flow, &there, at);
    host.turn(Span::ZERO).expect("reads");
    assert!(host.endpoint(flow).is_none());
    assert_eq!(host.counters().refused, 3);
}
