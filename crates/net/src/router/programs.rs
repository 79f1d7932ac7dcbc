//! Programs that run in network namespaces: how they start, end and are told to. Namespaces are `namespace.rs`'s.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tailback_core::Span;

use super::namespace::Namespace;
use crate::clock::Clock;

/// How long a program may take to end by itself after it was told to.
const GRACE: Span = Span::from_millis(500);
/// How often it is looked whether something has come about.
pub(super) const LOOK: Duration = Duration::from_millis(5);

/// A program and its arguments, and variables of its environment beside those of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The program, by name or path, and its arguments.
    pub command: Vec<OsString>,
    /// Variables that it has beside those of this process.
    pub variables: Vec<(String, String)>,
    /// Whether it may read the terminal.
    pub is_interactive: bool,
}

/// A program at work, which ends with whoever holds it.
#[derive(Debug)]
pub(super) struct Running(Child);

impl Running {
    /// Starts a program in a namespace.
    pub(super) fn start(program: &Program, namespace: &Namespace) -> io::Result<Self> {
        Self::start_as(program, namespace, |_| {})
    }

    /// Starts a program in a namespace, with something about it that is `different`.
    pub(super) fn start_as(
        program: &Program,
        namespace: &Namespace,
        different: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let (name, arguments) = program.command.split_first().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "an empty command; expected a program")
        })?;
        let mut command = Command::new(name);
        command.args(arguments).envs(program.variables.iter().cloned());
        if !program.is_interactive {
            command.stdin(Stdio::null());
        }
        different(&mut command);
        let name = name.to_string_lossy().into_owned();
        let child = namespace.run(move || command.spawn())?;
        child.map(Self).map_err(|error| {
            // The system's number for it says nothing to whoever reads its words.
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default();
            io::Error::new(error.kind(), format!("{name} cannot be started: {words}"))
        })
    }

    /// Its standard error, where that was asked for, once.
    pub(super) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.0.stderr.take()
    }

    /// Its number.
    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }

    /// A file from which something can be read when it has ended.
    pub(super) fn as_file(&self) -> io::Result<OwnedFd> {
        let pid = self.pid().ok_or_else(|| io::Error::other("a program without a number"))?;
        Ok(pidfd_open(pid, PidfdFlags::empty())?)
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// Ends it: by asking, and then without.
    pub(super) fn end(mut self) -> io::Result<ExitStatus> {
        let clock = Clock::start();
        if let (None, Some(pid)) = (self.0.try_wait()?, self.pid()) {
            // It may have ended just now, which is all that is wanted.
            let _ = kill_process(pid, Signal::TERM);
        }
        while clock.now().since(tailback_core::Time::ZERO) < GRACE {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            thread::sleep(LOOK);
        }
        self.0.kill()?;
        self.0.wait()
    }
}

/// A program must not outlive what it was started for, also where that fails.
impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // Nothing better can be done where this fails.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// What shells call the outcome of a program: its status, or 128 and the number of the signal that ended it.
pub(super) fn status_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
