//! Flows over the kernel's own TCP in a laboratory: plain sockets under a congestion control of the kernel's, fed by a source
//! as simulated flows are. What the sources offer is decided in `transport`; looks are kept by `watch.rs`.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver as Await;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with, sockopt};
use tailback_core::{Bytes, Observation, Span, Stream, Time};
use tailback_transport::source::{AnySource, Source};

use super::hosts::Host;
use super::options::{TcpInfo, limit_segments, tcp_info};
use super::own::sleep_until;
use super::watch::{End, Transfer, Watch, Window};
use crate::clock::Clock;
use crate::wait::timespec;

/// Headers of IPv4 and TCP without options; with the timestamps that the kernel adds.
const HEADERS: u64 = 40;
pub(super) const HEADERS_AND_STAMPS: u64 = 52;
/// How often it is looked whether all that was written has been acknowledged.
const LOOK: Span = Span::from_millis(1);
/// The longest wait: the word to stop is looked for this often.
const LONGEST: Span = Span::from_millis(50);
/// So much is read or written at once.
const PIECE: usize = 1 << 16;

/// How connections of a flow are made.
pub(super) struct Line {
    pub(super) host: Arc<Host>,
    pub(super) from: Ipv4Addr,
    pub(super) to: SocketAddrV4,
    /// The kernel's name of the congestion control.
    pub(super) congestion: String,
    /// A full packet, headers included.
    pub(super) segment: Bytes,
}

impl Line {
    /// A connection that has begun to come about.
    fn connect(&self) -> io::Result<TcpStream> {
        let (from, to) = (SocketAddrV4::new(self.from, 0), self.to);
        let (congestion, segment) = (self.congestion.clone(), self.segment);
        let made = self.host.namespace.run(move || -> io::Result<TcpStream> {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let made = socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
            sockopt::set_tcp_congestion(&made, &congestion)?;
            limit_segments(&made, (segment.get().saturating_sub(HEADERS)).try_into().unwrap_or(u16::MAX))?;
            bind(&made, &from)?;
            match connect(&made, &to) {
                Ok(()) | Err(Errno::INPROGRESS) => Ok(made.into()),
                Err(error) => Err(error.into()),
            }
        })?;
        made.map_err(|error| io::Error::new(error.kind(), format!("TCP under {}: {error}", self.congestion)))
    }
}

/// A sender: a source whose data goes through the kernel.
pub(super) struct KernelSender {
    pub(super) line: Line,
    pub(super) source: AnySource,
    pub(super) rng: Stream,
    pub(super) start: Time,
    pub(super) stop: Option<Time>,
}

/// A sender at work.
struct Sending {
    line: Line,
    stream: Option<TcpStream>,
    /// Bytes that the source has offered and the kernel has not taken.
    left: u64,
    /// Messages offered and not acknowledged: their sizes and when they were offered.
    awaited: VecDeque<(Bytes, Time)>,
    /// How many messages the source has offered.
    messages: u64,
    /// Segments that closed connections have retransmitted.
    before: u64,
    info: TcpInfo,
    samples: u32,
}

impl KernelSender {
    /// Sends until the window's end, or until there is word to stop.
    pub(super) fn run(self, window: Window, clock: &Await<Clock>, stop: &AtomicBool) -> End {
        let Self { line, mut source, mut rng, start, stop: stops } = self;
        let (mut end, mut watch) = (End::default(), Watch::new(window));
        let mut sending = Sending {
            line,
            stream: None,
            left: 0,
            awaited: VecDeque::new(),
            messages: 0,
            before: 0,
            info: TcpInfo::default(),
            samples: 0,
        };
        let until = stops.unwrap_or(window.end).min(window.end);
        let outcome = clock.recv().map_err(io::Error::other).and_then(|clock| {
            sleep_until(start.min(until), clock, stop);
            source.start(clock.now(), &mut rng);
            loop {
                let now = clock.now();
                watch.look(now, || sending.observe());
                if now >= until || stop.load(Ordering::Relaxed) || end.finished.is_some() {
                    return Ok(());
                }
                sending.take_offers(&mut source, now, &mut rng)?;
                sending.write()?;
                sending.complete(&mut source, clock, &mut rng, &mut end);
                if source.is_finished() && sending.awaited.is_empty() && sending.left == 0 {
                    end.finished = Some(clock.now());
                }
                let next = source.next_offer().unwrap_or(Time::NEVER).min(watch.next()).min(until);
                sending.wait(next.since(clock.now()).min(LONGEST))?;
            }
        });
        end.error = outcome.err().map(|error| error.to_string());
        let last = sending.observe();
        end.looks = watch.finish(last);
        end
    }
}

impl Sending {
    fn take_offers(&mut self, source: &mut AnySource, now: Time, rng: &mut Stream) -> io::Result<()> {
        while source.next_offer().is_some_and(|at| at <= now) {
            let Some(offer) = source.take_offer(now, rng) else { return Ok(()) };
            if self.stream.is_none() || offer.new_connection {
                self.before += u64::from(self.info.retransmitted);
                self.info = TcpInfo::default();
                self.stream = Some(self.line.connect()?);
            }
            self.left = self.left.saturating_add(offer.bytes.get());
            if offer.ends_message {
                self.messages += 1;
                self.awaited.push_back((offer.bytes, now));
            }
        }
        Ok(())
    }

    /// Gives the kernel what it takes.
    fn write(&mut self) -> io::Result<()> {
        static ZEROS: [u8; PIECE] = [0; PIECE];
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while self.left > 0 {
            match stream.write(&ZEROS[..self.left.min(PIECE as u64) as usize]) {
                Ok(taken) => self.left -= taken as u64,
                Err(error) if is_not_yet(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tells the source of messages that have arrived.
    fn complete(&mut self, source: &mut AnySource, clock: Clock, rng: &mut Stream, end: &mut End) {
        if self.awaited.is_empty() || self.left > 0 {
            return;
        }
        self.look();
        if self.samples > 0 && self.info.unacknowledged == 0 && self.info.unsent == 0 {
            for (size, began) in self.awaited.drain(..) {
                let ended = clock.now();
                end.transfers.push(Transfer { size, began, ended });
                source.on_message_done(ended, rng);
            }
        }
    }

    fn look(&mut self) {
        if let Some(info) = self.stream.as_ref().and_then(tcp_info) {
            self.info = info;
            self.samples += u32::from(info.rtt > Span::ZERO);
        }
    }

    fn observe(&mut self) -> Observation {
        self.look();
        let segments = |count: u32| Bytes::new(u64::from(count) * self.line.segment.get());
        let rtt = (self.samples > 0).then_some(self.info.rtt);
        Observation {
            repeated_packets: self.before + u64::from(self.info.retransmitted),
            messages: self.messages,
            window: (self.samples > 0).then(|| segments(self.info.window)),
            in_flight: segments(self.info.unacknowledged),
            rtt_samples: self.samples,
            latest_rtt: rtt,
            smoothed_rtt: rtt,
            ..Observation::default()
        }
    }

    /// Waits until the kernel takes more, if there is more, or for so long.
    fn wait(&self, span: Span) -> io::Result<()> {
        let awaits = !self.awaited.is_empty() && self.left == 0;
        let timeout = timespec(if awaits { span.min(LOOK) } else { span });
        let mut fds = Vec::new();
        if let Some(stream) = self.stream.as_ref().filter(|_| self.left > 0) {
            fds.push(PollFd::new(stream, PollFlags::OUT));
        }
        waited(poll(&mut fds, Some(&timeout)))
    }
}

/// Where a receiver listens. Its side of the connection has the sender's congestion control: that of DCTCP echoes marks
/// otherwise (RFC 8257 §3.2).
pub(super) fn listen(at: SocketAddrV4, congestion: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(at)?;
    sockopt::set_tcp_congestion(&listener, congestion)?;
    Ok(listener)
}

/// A receiver, who reads what comes and throws it away.
pub(super) struct KernelReceiver {
    pub(super) listener: TcpListener,
    /// A full packet, headers included.
    pub(super) segment: Bytes,
}

impl KernelReceiver {
    /// Reads until the window's end, or until there is word to stop.
    pub(super) fn run(self, window: Window, clock: &Await<Clock>, stop: &AtomicBool) -> End {
        let (mut end, mut watch) = (End::default(), Watch::new(window));
        let mut bytes = 0_u64;
        let segment = self.segment;
        let outcome = clock
            .recv()
            .map_err(io::Error::other)
            .and_then(|clock| self.read(clock, window, stop, &mut watch, &mut bytes));
        end.error = outcome.err().map(|error| error.to_string());
        end.looks = watch.finish(received(bytes, segment));
        end
    }

    fn read(
        self,
        clock: Clock,
        window: Window,
        stop: &AtomicBool,
        watch: &mut Watch,
        bytes: &mut u64,
    ) -> io::Result<()> {
        self.listener.set_nonblocking(true)?;
        let mut streams: Vec<TcpStream> = Vec::new();
        let mut buffer = vec![0; PIECE];
        loop {
            let now = clock.now();
            watch.look(now, || received(*bytes, self.segment));
            if now >= window.end || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
            fds.extend(streams.iter().map(|stream| PollFd::new(stream, PollFlags::IN)));
            waited(poll(&mut fds, Some(&timespec(watch.next().since(now).min(LONGEST)))))?;
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    streams.push(stream);
                }
                Err(error) if is_not_yet(&error) => {}
                Err(error) => return Err(error),
            }
            streams.retain_mut(|stream| {
                loop {
                    match stream.read(&mut buffer) {
                        Ok(0) => return false,
                        Ok(length) => *bytes += length as u64,
                        // A connection that was cut has ended, too.
                        Err(error) => return is_not_yet(&error),
                    }
                }
            });
        }
    }
}

/// What a receiver of so many bytes has seen: of packets it knows that all but the last are full.
fn received(bytes: u64, segment: Bytes) -> Observation {
    let packets = bytes.div_ceil(segment.get().saturating_sub(HEADERS_AND_STAMPS).max(1));
    Observation {
        goodput_bytes: Bytes::new(bytes + packets * HEADERS_AND_STAMPS),
        goodput_packets: packets,
        app_bytes: Bytes::new(bytes),
        ..Observation::default()
    }
}

/// Of TCP, where the next look may find more; of datagrams it is `refused::is_momentary`.
fn is_not_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected
    )
}

fn waited(outcome: Result<usize, Errno>) -> io::Result<()> {
    match outcome {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::congestion_controls;

    #[test]
    fn both_ends_have_the_congestion_control() {
        for congestion in congestion_controls() {
            let listener = listen(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), &congestion).unwrap();
            let _sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (receiver, _) = listener.accept().unwrap();
            assert_eq!(sockopt::tcp_congestion(&receiver).unwrap(), congestion);
        }
    }

    #[test]
    fn what_arrived_is_told_in_full_packets() {
        let seen = received(10 * 948 + 1, Bytes::new(1000));
        assert_eq!((seen.goodput_packets, seen.app_bytes.get()), (11, 9481));
        assert_eq!(seen.goodput_bytes.get(), 9481 + 11 * 52);
        assert_eq!(received(0, Bytes::new(1000)), Observation::default());
    }
}
