//! The router between network namespaces, with TUN devices, where the system lets a test make them. The host's own interfaces
//! are never touched.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use crate::common::links::{MTU, link, patiently, rules, spec};
use rustix::io::Errno;
use tailback_core::{DropReason, Span, Time};
use tailback_link::{LinkSpec, LossModel};
use tailback_net::router::{Ends, FarEnd, Namespace, Router, Tun};

/// What the system lacks for namespaces with devices, if it does. That there is something else amiss is no reason to skip.
fn lacking() -> Option<String> {
    let namespaces = Namespace::new().err().filter(is_refusal).map(|error| format!("namespaces: {error}"));
    let device = || File::options().read(true).write(true).open("/dev/net/tun").err();
    namespaces.or_else(|| device().map(|error| format!("/dev/net/tun: {error}")))
}

/// Whether the system lets this process have no namespaces, by what it said to the call (`unshare(2)`, ERRORS); errors of
/// what is done afterwards have no number.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::PERM, Errno::ACCESS, Errno::NOSYS, Errno::INVAL, Errno::NOSPC];
    error.raw_os_error().is_some_and(|number| refusals.contains(&Errno::from_raw_os_error(number)))
}

/// Says why a test is skipped, past whatever keeps the output of tests that do not fail.
fn skips(why: Option<&str>) -> bool {
    if let Some(lacks) = why {
        writeln!(io::stderr(), "skipped: {lacks}").expect("a place for messages");
    }
    why.is_some()
}

#[test]
fn only_a_refusal_to_make_namespaces_skips_a_test() {
    assert!(is_refusal(&io::Error::from(Errno::PERM)));
    for other in [
        io::Error::from(Errno::MFILE),
        io::Error::other("ip link: no such device"),
        io::ErrorKind::NotFound.into(),
    ] {
        assert!(!is_refusal(&other), "{other}");
    }
}

/// Two namespaces with a router between them.
struct Lab {
    near: Namespace,
    far: Namespace,
    stop: io::PipeWriter,
    routing: thread::JoinHandle<Router<()>>,
}

impl Lab {
    /// Nothing where the system lacks what it takes.
    fn new(links: Vec<LinkSpec>) -> Option<Self> {
        (!skips(lacking().as_deref())).then(|| Self::build(links).expect("what namespaces take is there"))
    }

    fn build(links: Vec<LinkSpec>) -> io::Result<Self> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        let mut files = Vec::new();
        for (namespace, host) in [(&near, 2), (&far, 1)] {
            let tun = Tun::new(namespace, "link0", MTU as u16)?;
            let four = format!("addr add 10.9.0.{host}/24 dev link0");
            let six = format!("addr add fd09::{host}/64 dev link0 nodad");
            namespace.ip(&[&four, &six])?;
            files.push(tun.into_file());
        }
        let (stopped, stop) = io::pipe()?;
        let routing = thread::spawn(move || {
            let rules = rules(links.len());
            let links = links.into_iter().map(link).collect();
            let mut router = Router::new(files, links, rules, MTU, ()).expect("a router");
            router.run(Time::NEVER, &[stopped.as_fd()]).expect("runs");
            router
        });
        Ok(Self { near, far, stop, routing })
    }

    fn finish(self) -> Router<()> {
        drop(self.stop);
        self.routing.join().expect("the router ends")
    }
}

const FAR: [&str; 2] = ["10.9.0.1", "[fd09::1]"];

#[test]
fn datagrams_cross_both_protocols_with_their_marks() {
    // A queue that marks all that is capable: a threshold below any queue.
    let Some(lab) = Lab::new(vec![spec(
        1_000_000,
        Span::from_millis(1),
        1000,
        r#"{"name": "codel", "ecn": true, "target": "1 us", "interval": "1 ms"}"#,
    )]) else {
        return;
    };
    let mut expected = 0;
    for address in FAR {
        let (there, at) = lab
            .far
            .run(move || {
                let socket = UdpSocket::bind(format!("{address}:0")).expect("binds");
                socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
                let at = socket.local_addr().expect("bound");
                (socket, at)
            })
            .expect("runs");
        lab.near
            .run(move || {
                let any: SocketAddr =
                    if at.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().expect("an address");
                let socket = UdpSocket::bind(any).expect("binds");
                if at.is_ipv4() {
                    rustix::net::sockopt::set_ip_tos(&socket, 2).expect("ECT(0)");
                } else {
                    rustix::net::sockopt::set_ipv6_tclass(&socket, 2).expect("ECT(0)");
                }
                for number in 0..50_u8 {
                    socket.send_to(&[number; 700], at).expect("sends");
                }
            })
            .expect("runs");
        for number in 0..50 {
            let mut buffer = [0; 1000];
            assert_eq!(patiently(|| there.recv(&mut buffer)).expect("arrives"), 700, "{address}");
            assert_eq!(buffer[0], number, "in order, none lost");
        }
        expected += 50;
    }
    let mut router = lab.finish();
    let counters = router.inside().devices()[1];
    assert_eq!(counters.left.packets, expected);
    assert!(counters.marked > 50, "{counters:?}");
    assert_eq!(router.inside().link(0).marked, counters.marked);
    assert_eq!(router.inside().devices()[0].malformed, 0);
}

#[test]
fn the_kernels_tcp_gets_through_loss_whole() {
    let lossy = LinkSpec {
        loss_before_queue: Some(LossModel::Independent { probability: 0.01 }),
        ..spec(40_000_000, Span::from_millis(2), 100, "\"fq-codel\"")
    };
    let Some(lab) = Lab::new(vec![lossy]) else { return };
    let at = format!("{}:5001", FAR[0]);
    let listener = lab
        .far
        .run({
            let at = at.clone();
            move || TcpListener::bind(at).expect("binds")
        })
        .expect("runs");
    let reading = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepts");
        let mut all = Vec::new();
        io::Read::read_to_end(&mut stream, &mut all).expect("reads");
        all
    });
    let sent: Vec<u8> = (0..2_000_000_u32).map(|byte| (byte % 251) as u8).collect();
    let copy = sent.clone();
    lab.near
        .run(move || {
            let mut stream = TcpStream::connect(at).expect("connects");
            Write::write_all(&mut stream, &copy).expect("writes");
        })
        .expect("runs");
    assert!(reading.join().expect("reads") == sent, "every byte, in order");
    let mut router = lab.finish();
    let lost = router.inside().link(0).dropped_for(DropReason::Loss).packets;
    assert!(lost > 0, "the link lost packets, and TCP repaired it");
    let flows = router.inside().flows();
    assert!(flows.iter().any(|flow| flow.key.protocol == 6 && flow.key.ports.1 == 5001), "{flows:?}");
}

/// Whoever runs behind a link may do so: the network is his.
#[test]
fn a_router_whose_interface_is_removed_ends_and_says_so() {
    if skips(lacking().as_deref()) {
        return;
    }
    let near = Namespace::new().expect("a namespace");
    let tun = Tun::new(&near, "link0", MTU as u16).expect("a device");
    let mut router = Router::new(vec![tun.into_file()], Vec::new(), Vec::new(), MTU, ()).expect("a router");
    near.ip(&["link del link0"]).expect("removed");
    let error = router.run(Time::ZERO + Span::from_secs(20), &[]).expect_err("nothing to read from");
    let said = "an interface of the router was removed; expected it to stay until the end";
    assert_eq!(error.to_string(), said);
}

#[test]
fn a_namespace_is_gone_with_its_owner() {
    if skips(lacking().as_deref()) {
        return;
    }
    let namespace = Namespace::new().expect("a namespace");
    let path = namespace.path();
    assert!(std::fs::metadata(&path).is_ok());
    drop(namespace);
    let clock = tailback_net::Clock::start();
    while std::fs::metadata(&path).is_ok() {
        assert!(clock.now() < Time::ZERO + Span::from_secs(20), "{path} is still there");
        thread::yield_now();
    }
}

#[test]
fn ends_that_are_made_at_once_in_one_network_have_different_addresses() {
    if skips(lacking().as_deref()) {
        return;
    }
    let nft = std::process::Command::new("nft").arg("--version").output();
    if skips(nft.err().map(|error| format!("nft: {error}")).as_deref()) {
        return;
    }
    let outside = Namespace::new().expect("a namespace");
    let made = outside.run(|| {
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a setting of the namespace's own");
        let makers: Vec<_> =
            (0..8).map(|_| thread::spawn(|| Ends::new(FarEnd::Outside, MTU as u16))).collect();
        makers.into_iter().map(|maker| maker.join().expect("does not panic")).collect::<Vec<_>>()
    });
    let ends: Vec<Ends> = made.expect("runs").into_iter().map(|ends| ends.expect("ends of links")).collect();
    let addresses: BTreeSet<String> = ends.iter().map(Ends::near_address).collect();
    assert_eq!(addresses.len(), ends.len(), "{addresses:?}");
    // What is given back is there for others, the first first.
    drop(ends);
    let again = outside.run(|| Ends::new(FarEnd::Outside, MTU as u16)).expect("runs").expect("ends of links");
    assert_eq!(again.near_address(), "198.18.0.2");
}
