//! Network namespaces, each with a thread that lives in it, and their interfaces' addresses and routes. Which namespaces there
//! are and what runs in them is decided by whoever makes them.
//!
//! A thread that leaves its process's network namespace for a new one owns it, and so do the programs that it starts. When the
//! thread and the programs have ended, in whatever way, the system takes the namespace away with all that is in it. Nothing
//! has a name outside, so there is nothing to clean up.

use std::io;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};

/// Something to be done in a namespace.
type Job = Box<dyn FnOnce() + Send>;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    jobs: Sender<Job>,
    thread: i32,
}

impl Namespace {
    /// A new namespace, in which there is nothing but a loopback interface, which is up.
    ///
    /// # Errors
    /// Where the process may not make one: it needs `CAP_SYS_ADMIN` in its user namespace.
    #[expect(unsafe_code, reason = "a thread that leaves alone need not share anything with the others")]
    pub fn new() -> io::Result<Self> {
        // SAFETY: only the network namespace is left, which no other thread's memory or files depend on.
        let leave = || unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from);
        let namespace = Self::entered_by(leave)?;
        namespace.ip(&["link set lo up"])?;
        Ok(namespace)
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn current() -> io::Result<Self> {
        Self::entered_by(|| Ok(()))
    }

    /// A thread that enters its namespace by `enter` and then does what it is told.
    fn entered_by(enter: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (jobs, told) = channel::<Job>();
        let (ready, entered) = channel();
        thread::Builder::new().name("namespace".to_owned()).spawn(move || {
            let outcome = enter().map(|()| gettid().as_raw_nonzero().get());
            let is_in = outcome.is_ok();
            // Nobody listens only where the maker is gone.
            let _ = ready.send(outcome);
            if is_in {
                for job in told {
                    job();
                }
            }
        })?;
        let thread = entered.recv().map_err(io::Error::other)??;
        Ok(Self { jobs, thread })
    }

    /// Does something in the namespace, and waits for it.
    ///
    /// # Errors
    /// Where it panicked.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let (done, result) = channel();
        let gone = || io::Error::other("the namespace's thread has ended");
        self.jobs.send(Box::new(move || drop(done.send(job())))).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())
    }

    /// Gives lines to `ip`, of iproute2, in the namespace: `addr add 10.0.0.1/24 dev link0`.
    ///
    /// # Errors
    /// Where there is no such program, or it refuses a line, with what it says.
    pub fn ip(&self, lines: &[&str]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.ip_says(line).map(drop))
    }

    /// What `ip` says to a line.
    ///
    /// # Errors
    /// Those of [`Namespace::ip`].
    pub fn ip_says(&self, line: &str) -> io::Result<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let output = self.run(move || Command::new("ip").args(&words).output())?.map_err(|error| {
            io::Error::new(error.kind(), format!("ip: {error}; expected iproute2 to be installed"))
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("ip {line}: {}", said.trim())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The file that stands for the namespace, for `nsenter --net=…`, while the namespace lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/task/{}/ns/net", std::process::id(), self.thread)
    }
}
