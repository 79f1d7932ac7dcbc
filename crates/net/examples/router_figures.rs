//! What a router does, beside the kernel's token bucket: packets per second of one core's time, the rate that it serves, and the
//! delay that it adds. `router_figures speed | served | delay`, as root; every figure is a line of JSON. `make parity` runs it
//! and writes the figures into a page.

use std::io;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tailback_core::{BitRate, Bytes, Capacity, Span, Time};
use tailback_link::{LinkSpec, StandaloneLink};
use tailback_net::Clock;
use tailback_net::router::{Namespace, Router, Rule, Spans, Tun};
use tailback_qdisc::{BuildCx, Config, KnownFlows};

const SINK: &str = "10.9.0.1:9";
const RATES: [u64; 4] = [10, 50, 100, 200];
/// Bytes of a full datagram's payload, and its headers.
const FULL: usize = 1472;
const HEADERS: usize = 28;
/// What Ethernet adds, which the token bucket counts.
const FRAME: usize = 14;
const DELAY: Span = Span::from_millis(10);
const SECONDS: u64 = 4;

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("speed") => {
            for (queue, size) in
                [("drop-tail", 36), ("drop-tail", FULL), ("fq-codel", 36), ("fq-codel", FULL)]
            {
                println!("{}", speed(queue, size)?);
            }
        }
        Some("served") => {
            for rate in RATES {
                println!("{}", served("tailback", rate, &Ends::of_router()?, true)?);
                println!("{}", served("tbf", rate, &Ends::of_bucket(rate)?, false)?);
            }
        }
        Some("delay") => {
            for rate in RATES {
                println!("{}", delay("tailback", rate, &Ends::of_router()?, true)?);
                println!("{}", delay("tbf", rate, &Ends::of_bucket(rate)?, false)?);
            }
        }
        _ => return Err(io::Error::other("say one of: speed, served, delay")),
    }
    Ok(())
}

/// Two hosts, and what joins them.
struct Ends {
    near: Namespace,
    far: Namespace,
    tuns: std::cell::RefCell<Vec<Tun>>,
}

impl Ends {
    /// Joined by a router, once somebody runs one.
    fn of_router() -> io::Result<Self> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        let mut tuns = Vec::new();
        for (namespace, host) in [(&near, 2), (&far, 1)] {
            tuns.push(Tun::new(namespace, "link0", 1500)?);
            namespace.ip(&[&format!("addr add 10.9.0.{host}/24 dev link0")])?;
        }
        Ok(Self { near, far, tuns: tuns.into() })
    }

    /// Joined by a pair of the kernel's devices, with a token bucket before the one.
    fn of_bucket(rate: u64) -> io::Result<Self> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        let path = far.path();
        let thread = path.split('/').nth(4).unwrap_or_default();
        near.ip(&[&format!("link add link0 type veth peer name link0 netns {thread}")])?;
        for (namespace, host) in [(&near, 2), (&far, 1)] {
            namespace.ip(&[&format!("addr add 10.9.0.{host}/24 dev link0"), "link set link0 up"])?;
        }
        let line = format!("qdisc add dev link0 root tbf rate {rate}mbit burst 3028 limit {}", 100 * 1514);
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let made = near.run(move || Command::new("tc").args(words).status())??;
        if !made.success() {
            return Err(io::Error::other(format!("tc {line}: it refuses")));
        }
        Ok(Self { near, far, tuns: Vec::new().into() })
    }

    fn sink(&self) -> io::Result<UdpSocket> {
        let sink = self.far.run(|| UdpSocket::bind(SINK))??;
        sink.set_read_timeout(Some(Duration::from_millis(200)))?;
        Ok(sink)
    }

    fn source(&self) -> io::Result<UdpSocket> {
        let source = self.near.run(|| UdpSocket::bind("10.9.0.2:0"))??;
        source.connect(SINK)?;
        Ok(source)
    }

    /// Runs a router between the ends, where there is one, or waits as long.
    fn run(&self, queue: &str, rate: u64, delay: Span) -> io::Result<Option<Router<()>>> {
        let tuns = self.tuns.take();
        if tuns.is_empty() {
            thread::sleep(Duration::from_secs(SECONDS));
            return Ok(None);
        }
        let rate = BitRate::from_bits_per_sec(rate * 1_000_000);
        let config: tailback_core::Choice<Config> = serde_json::from_value(queue.into())?;
        let cx = BuildCx {
            capacity: Capacity::Packets(100),
            rate,
            mean_packet: Bytes::new(1500),
            flows: KnownFlows::default(),
        };
        let link = StandaloneLink::new(LinkSpec::new("link", rate, delay, config.build(&cx)), 1);
        let rules = vec![Rule { from: 0, to: 1, route: vec![0], ..Rule::default() }];
        let files = tuns.into_iter().map(Tun::into_file).collect();
        let mut router = Router::new(files, vec![link], rules, 1500, ())?;
        router.run(Time::ZERO + Span::from_secs(SECONDS), &[])?;
        Ok(Some(router))
    }
}

/// Sends datagrams of `size`, a few at once every so often, or without a pause, until `done`.
fn pour(
    ends: &Ends,
    size: usize,
    pace: Option<(usize, Span)>,
) -> io::Result<(Arc<AtomicBool>, JoinHandle<()>)> {
    let source = ends.source()?;
    let done = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&done);
    let pouring = thread::spawn(move || {
        let bytes = vec![0; size];
        let clock = Clock::start();
        let mut next = clock.now();
        while !told.load(Ordering::Relaxed) {
            let (count, pause) = pace.unwrap_or((64, Span::ZERO));
            for _ in 0..count {
                // A full queue is what is wanted.
                let _ = source.send(&bytes);
            }
            next += pause;
            let left = next.since(clock.now());
            if !left.is_zero() {
                thread::sleep(Duration::from_nanos(left.as_nanos()));
            }
        }
    });
    Ok((done, pouring))
}

/// Packets per second of one core's time.
fn speed(queue: &str, size: usize) -> io::Result<Value> {
    let ends = Ends::of_router()?;
    let sink = ends.sink()?;
    let (done, pouring) = pour(&ends, size, None)?;
    let (before, ticks) = (clock_gettime(ClockId::ThreadCPUTime), cpu_ticks());
    let mut router = ends.run(queue, 10_000, Span::ZERO)?.ok_or_else(|| io::Error::other("no router"))?;
    let after = clock_gettime(ClockId::ThreadCPUTime);
    let later = cpu_ticks();
    done.store(true, Ordering::Relaxed);
    let _ = pouring.join();
    drop(sink);
    let seconds = (after.tv_sec - before.tv_sec) as f64 + (after.tv_nsec - before.tv_nsec) as f64 * 1e-9;
    let packets = router.inside().devices()[0].arrived.packets;
    let (user, system) = ((later.0 - ticks.0) as f64, (later.1 - ticks.1) as f64);
    Ok(json!({
        "figure": "speed", "queue": queue, "packet_bytes": size + HEADERS, "packets": packets,
        "cpu_seconds": seconds, "packets_per_cpu_second": packets as f64 / seconds,
        "in_the_kernel": system / (user + system).max(1.0),
    }))
}

/// The calling thread's time in its program and in the kernel, in ticks.
fn cpu_ticks() -> (u64, u64) {
    let told = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let fields: Vec<&str> = told.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0);
    (field(11), field(12))
}

/// The rate at which full packets leave a link that has too many of them.
fn served(what: &str, rate: u64, ends: &Ends, is_ip: bool) -> io::Result<Value> {
    let sink = ends.sink()?;
    let pause = Span::from_millis(1);
    // A third more than the link takes.
    let count = (rate as usize * 1000 * 4 / 3).div_ceil((FULL + HEADERS) * 8).max(1);
    let counting = thread::spawn(move || {
        let (clock, mut buffer) = (Clock::start(), [0; 2048]);
        let mut seen: Vec<Time> = Vec::new();
        while let Ok(_length) = sink.recv(&mut buffer) {
            seen.push(clock.now());
        }
        seen
    });
    let (done, pouring) = pour(ends, FULL, Some((count, pause)))?;
    let router = ends.run("drop-tail", rate, Span::ZERO)?;
    done.store(true, Ordering::Relaxed);
    let _ = pouring.join();
    let seen = counting.join().map_err(|_| io::Error::other("the sink panicked"))?;
    // The last quarter may be of the queue that runs empty; the first one, of the beginning.
    let (first, last) = (seen.len() / 4, seen.len() * 3 / 4);
    let size = FULL + HEADERS + if is_ip { 0 } else { FRAME };
    let span = seen[last].since(seen[first]).as_secs_f64();
    let measured = ((last - first) * size * 8) as f64 / span;
    let late = router.as_ref().map(|router| router.lateness().quantile(0.99).as_secs_f64());
    Ok(json!({
        "figure": "served", "of": what, "rate": rate * 1_000_000, "served": measured,
        "difference": measured / (rate as f64 * 1e6) - 1.0, "late_p99_seconds": late,
    }))
}

/// How much longer small packets take than the link asks, from `send` to `recv`.
fn delay(what: &str, rate: u64, ends: &Ends, is_ip: bool) -> io::Result<Value> {
    const SIZE: usize = 64;
    let (sink, source) = (ends.sink()?, ends.source()?);
    let clock = Clock::start();
    let receiving = thread::spawn(move || {
        let (mut buffer, mut delays) = ([0; 2048], Vec::new());
        while let Ok(length) = sink.recv(&mut buffer) {
            let now = clock.now();
            if let Some(stamp) = buffer[..length].first_chunk::<8>() {
                delays.push(now.since(Time::from_nanos(u64::from_be_bytes(*stamp))));
            }
        }
        delays
    });
    let done = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&done);
    let sending = thread::spawn(move || {
        let mut bytes = [0; SIZE];
        while !told.load(Ordering::Relaxed) {
            bytes[..8].copy_from_slice(&clock.now().as_nanos().to_be_bytes());
            let _ = source.send(&bytes);
            thread::sleep(Duration::from_millis(1));
        }
    });
    let asked = if is_ip { DELAY } else { Span::ZERO };
    let router = ends.run("drop-tail", rate, asked)?;
    done.store(true, Ordering::Relaxed);
    let _ = sending.join();
    let delays = receiving.join().map_err(|_| io::Error::other("the sink panicked"))?;
    let transmission = if is_ip {
        BitRate::from_bits_per_sec(rate * 1_000_000).span_of(Bytes::new((SIZE + HEADERS) as u64))
    } else {
        Span::ZERO
    };
    let mut added = Spans::default();
    for delay in delays.iter().skip(100) {
        added.add(delay.saturating_sub(asked + transmission));
    }
    let quantile = |of: &Spans, share| of.quantile(share).as_secs_f64();
    let own = router.as_ref().map(Router::lateness);
    Ok(json!({
        "figure": "delay", "of": what, "rate": rate * 1_000_000, "asked_seconds": asked.as_secs_f64(),
        "packets": added.count(), "added_p50_seconds": quantile(&added, 0.5),
        "added_p99_seconds": quantile(&added, 0.99),
        "late_p50_seconds": own.map(|own| quantile(own, 0.5)),
        "late_p99_seconds": own.map(|own| quantile(own, 0.99)),
    }))
}
