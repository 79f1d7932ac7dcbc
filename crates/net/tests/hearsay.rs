//! What the network says of datagrams (ICMP) ends nothing: it may be over the next moment, and anybody can make it up who knows
//! two addresses and guesses a port. Where the system lets a test make a network of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::common::plain;
use etherparse::PacketBuilder;
use rustix::io::Errno;
use tailback_control::SCHEMES;
use tailback_core::{Bytes, Ecn, FlowId, Span, Stream, Time};
use tailback_net::batch::Batch;
use tailback_net::router::{Namespace, Tun};
use tailback_net::socket::Way;
use tailback_net::{Clock, MarkedSocket, SendBuffer};
use tailback_transport::source::AnySource;
use tailback_transport::{Sender, StreamConfig};

/// Type and code of ICMP, and what the system makes of it for a connected socket; `None` where it keeps it to itself.
const SAID: [(u8, u8, Option<Errno>); 9] = [
    (3, 0, None),
    (3, 1, None),
    (3, 2, Some(Errno::NOPROTOOPT)),
    (3, 3, Some(Errno::CONNREFUSED)),
    (3, 4, Some(Errno::MSGSIZE)),
    (3, 7, Some(Errno::HOSTDOWN)),
    (3, 8, Some(Errno::NONET)),
    (11, 0, None),
    (12, 0, Some(Errno::PROTO)),
];
const LONG: Span = Span::from_secs(20);

/// A host with one interface, whose packets the test reads and writes.
struct Host {
    namespace: Namespace,
    wire: File,
}

impl Host {
    /// Nothing where the system does not let us.
    fn new() -> Option<Self> {
        let namespace = Namespace::new().ok()?;
        File::options().read(true).write(true).open("/dev/net/tun").ok()?;
        let tun = Tun::new(&namespace, "link0", 1500).expect("a device");
        namespace.ip(&["addr add 10.9.0.2/24 dev link0"]).expect("an address");
        Some(Self { namespace, wire: tun.into_file().into() })
    }

    fn connected(&self) -> UdpSocket {
        let connect = || {
            let socket = UdpSocket::bind("10.9.0.2:0").expect("bound");
            socket.connect("10.9.0.1:9").expect("connects");
            socket
        };
        self.namespace.run(connect).expect("runs")
    }

    /// The next datagram that leaves, from its IP header on.
    fn sent(&mut self) -> Vec<u8> {
        const UDP: u8 = 17;
        let (clock, mut buffer) = (Clock::start(), [0; 2000]);
        while clock.now() < Time::ZERO + LONG {
            match self.wire.read(&mut buffer) {
                Ok(length) if buffer[0] >> 4 == 4 && buffer[9] == UDP => return buffer[..length].to_vec(),
                Ok(_) => {}
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
        panic!("nothing leaves");
    }

    /// Somebody says this of a datagram.
    fn say(&mut self, kind: u8, code: u8, of: &[u8]) {
        // Of a way that is too narrow, how wide it is (RFC 1191 §4).
        let more = if (kind, code) == (3, 4) { [0, 0, 5, 0] } else { [0; 4] };
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 9, 0, 1], [10, 9, 0, 2], 64)
            .icmpv4_raw(kind, code, more)
            .write(&mut packet, &of[..28])
            .expect("written");
        self.wire.write_all(&packet).expect("arrives");
    }
}

#[test]
fn no_driver_ends_by_what_somebody_says() {
    let Some(mut host) = Host::new() else { return };
    let info = SCHEMES.iter().find(|info| info.name == "cubic").expect("registered");
    for (kind, code, told) in SAID {
        let config = StreamConfig { segment_size: Bytes::new(1400), ..StreamConfig::default() };
        let buffer = SendBuffer::new(config.header);
        let parts = (info.default)().build(&config.controller_params());
        let endpoint = Sender::new(FlowId(0), config, parts.controller, AnySource::pushed());
        let rng = Stream::new(1, "sender");
        let mut driver =
            plain::driver(host.connected(), FlowId(0), endpoint, buffer, rng, None).expect("begun");
        driver.write(&[7; 1000]).expect("written");
        let datagram = host.sent();
        host.say(kind, code, &datagram);
        let clock = Clock::start();
        while driver.trouble().map(|(errno, _)| errno) != told && clock.now() < Time::ZERO + LONG {
            driver.turn(Span::from_millis(1)).unwrap_or_else(|error| panic!("{kind}, {code}: {error}"));
        }
        assert_eq!(driver.trouble().map(|(errno, _)| errno), told, "{kind}, {code}");
    }
}

#[test]
fn what_is_said_of_a_datagram_does_not_keep_the_next_one() {
    let Some(mut host) = Host::new() else { return };
    for (kind, code, _) in SAID {
        let socket = MarkedSocket::new(host.connected()).expect("set up");
        let mut batch = Batch::new(Way { to: socket.peer().expect("connected"), from: None });
        for number in 0..3 {
            batch.add(&socket, 0, Ecn::NotEct, |out, _| out.extend([number; 100]));
            batch.flush(&socket);
            batch.outcome().unwrap_or_else(|error| panic!("{kind}, {code}: {error}"));
            let datagram = host.sent();
            assert_eq!(datagram.last(), Some(&number));
            host.say(kind, code, &datagram);
        }
        assert_eq!(batch.counts(), (3, 0), "{kind}, {code}");
    }
}
