//! How many packets a router carries per second of one core's time: `cargo run --release -p tailback-net --example
//! router_speed`, as root. Datagrams of 64 bytes are poured from one namespace into another through one drop-tail link.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::time::{ClockId, clock_gettime};
use tailback_core::{BitRate, Bytes, Capacity, Span, Time};
use tailback_link::{LinkSpec, StandaloneLink};
use tailback_net::router::{Namespace, Router, Rule, Tun};
use tailback_qdisc::{BuildCx, Config};

fn main() -> io::Result<()> {
    for (queue, rate) in [("drop-tail", 10_000_000_000), ("fq-codel", 10_000_000_000)] {
        for size in [36, 1472] {
            measure(queue, rate, size)?;
        }
    }
    Ok(())
}

fn measure(queue: &str, rate: u64, size: usize) -> io::Result<()> {
    let (near, far) = (Namespace::new()?, Namespace::new()?);
    let mut files = Vec::new();
    for (namespace, host) in [(&near, 2), (&far, 1)] {
        let tun = Tun::new(namespace, "link0", 1500)?;
        namespace.ip(&[&format!("addr add 10.9.0.{host}/24 dev link0")])?;
        files.push(tun.into_file());
    }
    let sink = far.run(|| UdpSocket::bind("10.9.0.1:9"))??;
    let done = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&done);
    let pouring = thread::spawn(move || {
        near.run(move || {
            let socket = UdpSocket::bind("10.9.0.2:0").expect("binds");
            let bytes = vec![0; size];
            while !told.load(Ordering::Relaxed) {
                // A full queue is what is wanted.
                let _ = socket.send_to(&bytes, "10.9.0.1:9");
            }
        })
    });
    let rate = BitRate::from_bits_per_sec(rate);
    let config: tailback_core::Choice<Config> = serde_json::from_value(queue.into())?;
    let built =
        config.build(&BuildCx { capacity: Capacity::Packets(1000), rate, mean_packet: Bytes::new(1000) });
    let link = StandaloneLink::new(LinkSpec::new("link", rate, Span::ZERO, built), 1);
    let rules = vec![Rule { from: 0, to: 1, route: vec![0], ..Rule::default() }];
    let mut router = Router::new(files, vec![link], rules, 1500, ())?;
    let before = clock_gettime(ClockId::ThreadCPUTime);
    router.run(Time::ZERO + Span::from_secs(4), &[])?;
    drop(sink);
    let after = clock_gettime(ClockId::ThreadCPUTime);
    done.store(true, Ordering::Relaxed);
    pouring.join().expect("ends")?;
    let seconds = (after.tv_sec - before.tv_sec) as f64 + (after.tv_nsec - before.tv_nsec) as f64 * 1e-9;
    let packets = router.inside().devices()[0].arrived.packets;
    println!(
        "{queue}, {} bytes: {packets} packets in {seconds:.2} s of processor time, {:.0} per second; late {} at the median",
        size + 28,
        packets as f64 / seconds,
        router.lateness().quantile(0.5)
    );
    Ok(())
}
