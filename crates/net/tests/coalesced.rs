//! Datagrams that the system hands over as one (UDP generic receive offload): each keeps its length and its ECN field.
//! They are sent as one, too (segmentation offload), which is how they come to arrive so on loopback.

use std::net::UdpSocket;

use quinn_udp::{EcnCodepoint, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tailback_core::Ecn;
use tailback_net::{Clock, MarkedSocket};

/// Bytes of each datagram of a train but the last.
const EACH: usize = 200;

#[test]
fn coalesced_datagrams_keep_their_marks() {
    let bind = || UdpSocket::bind("127.0.0.1:0").expect("a loopback socket");
    let (here, there) = (bind(), bind());
    let to = there.local_addr().expect("bound");
    there.connect(here.local_addr().expect("bound")).expect("connects");
    let state = UdpSocketState::new(UdpSockRef::from(&here)).expect("set up");
    let socket = MarkedSocket::new(there).expect("set up");

    // Trains of five with one mark each, the last datagram short; each datagram says which mark it left with.
    let trains = [Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ce, Ecn::Ect1];
    for ecn in trains {
        let contents = vec![ecn as u8; 4 * EACH + 50];
        let pieces: Vec<&[u8]> =
            if state.max_gso_segments() >= 5 { vec![&contents] } else { contents.chunks(EACH).collect() };
        for piece in pieces {
            let transmit = Transmit {
                destination: to,
                ecn: EcnCodepoint::from_bits(ecn as u8),
                contents: piece,
                segment_size: (piece.len() > EACH).then_some(EACH),
                src_ip: None,
            };
            state.try_send(UdpSockRef::from(&here), &transmit).expect("sends");
        }
    }

    let (clock, mut buffer, mut found) = (Clock::start(), vec![0; 65_536], Vec::new());
    let mut most = 0;
    while found.len() < 5 * trains.len() && clock.now().as_nanos() < 60_000_000_000 {
        let timeout = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&timeout)).expect("polls");
        while let Ok(arrived) = socket.receive(&mut buffer) {
            most = most.max(arrived.datagrams(&buffer).count());
            found.extend(arrived.datagrams(&buffer).map(|one| (one.len(), one[0], arrived.ecn as u8)));
        }
    }
    let expected: Vec<_> = trains
        .iter()
        .flat_map(|ecn| (0..5).map(move |place| (if place < 4 { EACH } else { 50 }, *ecn as u8, *ecn as u8)))
        .collect();
    assert_eq!(found, expected);
    // Where the system has both offloads, there was something to take apart.
    assert_eq!(most, if state.max_gso_segments() >= 5 && state.gro_segments() >= 5 { 5 } else { 1 });
}
