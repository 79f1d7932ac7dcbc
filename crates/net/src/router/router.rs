//! A router at work: it reads packets from devices, lets them pass links in real time, and writes them to devices. What
//! happens to packets inside is decided in `forwarder.rs`; waiting is `waiter.rs`'s business.
//!
//! The links live in virtual time. A packet comes at the instant when it is read, and from then on everything happens at the
//! nanosecond when it should. The clock decides only when packets that are due are written: a router that wakes late lets them
//! out late, and the links serve on at their rate. How late each packet left is kept ([`Router::lateness`]).

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use tailback_core::{Span, Time};
use tailback_link::StandaloneLink;

use super::forwarder::{Forwarder, Outlet, RouterRecorder, Rule};
use super::lateness::Spans;
use super::waiter::Waiter;
use crate::clock::Clock;

/// Packets read from a device in a row before the others have their turn.
const BATCH: usize = 16;
/// Under load, the word to stop is looked for once in so many rounds.
const ASKED_EVERY: u32 = 64;

/// A router between devices.
#[derive(Debug)]
pub struct Router<R> {
    forwarder: Forwarder<R>,
    devices: Devices,
    waiter: Waiter,
}

/// Where packets are read and written, and when they left.
#[derive(Debug)]
struct Devices {
    files: Arc<[OwnedFd]>,
    clock: Clock,
    lateness: Spans,
    /// By device, how long the packets that left by it had been in the router.
    delays: Vec<Spans>,
}

impl Outlet for Devices {
    fn leave(&mut self, due: Time, arrived: Time, device: usize, bytes: &[u8]) -> bool {
        let written = rustix::io::write(&self.files[device], bytes);
        let now = self.clock.now();
        self.lateness.add(now.since(due));
        self.delays[device].add(now.since(arrived));
        written.is_ok()
    }
}

impl<R: RouterRecorder> Router<R> {
    /// A router between `devices`, files that give and take whole packets of at most `longest` bytes and do not block, such as
    /// those of TUN devices. The calling thread must be the one that runs it: how late it wakes is measured here.
    ///
    /// # Errors
    /// A rule that names a device or link that there is none of.
    pub fn new(
        devices: Vec<OwnedFd>,
        links: Vec<StandaloneLink>,
        rules: Vec<Rule>,
        longest: usize,
        recorder: R,
    ) -> io::Result<Self> {
        let forwarder = Forwarder::new(devices.len(), links, rules, longest, recorder)?;
        let waiter = Waiter::new();
        let delays = vec![Spans::default(); devices.len()];
        let devices =
            Devices { files: devices.into(), clock: Clock::start(), lateness: Spans::default(), delays };
        Ok(Self { forwarder, devices, waiter })
    }

    /// Time zero is now, and this is the clock that says so, for others who are to agree. Before any packet was let in.
    pub fn begin(&mut self) -> Clock {
        self.devices.clock = Clock::start();
        self.devices.clock
    }

    /// Forwards until `end`, or until something can be read from one of `stops`, or whoever could write there
    /// is gone.
    ///
    /// # Errors
    /// Of the devices, when they cannot be read any more.
    pub fn run(&mut self, end: Time, stops: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut rounds = 0_u32;
        loop {
            let now = self.devices.clock.now().min(end);
            self.forwarder.advance(now, &mut self.devices);
            if now == end {
                return Ok(());
            }
            // While packets come there is no need to ask whether any do, only now and then whether to stop.
            rounds = rounds.wrapping_add(1);
            let came = self.read(end)?;
            if came && !rounds.is_multiple_of(ASKED_EVERY) {
                continue;
            }
            let due = if came { now } else { self.forwarder.next_event().min(end) };
            let now = self.devices.clock.now();
            if self.waiter.wait(now, due, &self.devices.files, stops)? {
                return Ok(());
            }
        }
    }

    /// Reads what the devices have, a batch from each. Whether there was anything.
    fn read(&mut self, end: Time) -> io::Result<bool> {
        let files = Arc::clone(&self.devices.files);
        let mut came = false;
        for (device, file) in files.iter().enumerate() {
            for _ in 0..BATCH {
                let now = self.devices.clock.now().min(end);
                let read = |buffer: &mut [u8]| rustix::io::read(file, buffer).map_err(explained);
                if !self.forwarder.receive(now, device, &mut self.devices, read)? {
                    break;
                }
                came = true;
            }
        }
        Ok(came)
    }

    /// What happened inside: counters of devices, links and flows.
    pub fn inside(&mut self) -> &mut Forwarder<R> {
        &mut self.forwarder
    }

    /// How late packets left: the time between a packet's being due and its having been written.
    pub fn lateness(&self) -> &Spans {
        &self.devices.lateness
    }

    /// By device, how long the packets that left by it had been in the router, lateness included.
    pub fn delays(&self) -> &[Spans] {
        &self.devices.delays
    }

    /// How long before a packet is due the router is awake.
    pub fn margin(&self) -> Span {
        self.waiter.margin()
    }

    /// Whoever watched, when all is over.
    pub fn into_recorder(self) -> R {
        self.forwarder.into_recorder()
    }
}

/// The system's words for a device that is gone name a file, and nobody knows of one.
fn explained(error: Errno) -> io::Error {
    if error == Errno::BADFD {
        let what = "an interface of the router was removed; expected it to stay until the end";
        return io::Error::new(io::ErrorKind::NotConnected, what);
    }
    error.into()
}
