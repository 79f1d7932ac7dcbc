//! The program at the far end, which serves the one at the near end: it is waited for at the start, and if it ends before that
//! one, this is told with what it said last. How programs start and end in general is `programs.rs`'s business.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tailback_core::{Span, Time};

use super::namespace::Namespace;
use super::programs::{LOOK, Program, Running, status_of};
use crate::clock::Clock;

/// How long a server may take until it listens; then programs start all the same.
const LISTENS_WITHIN: Span = Span::from_secs(2);
/// How long the last words of a server that has ended may take to get here.
const WORDS_WITHIN: Duration = Duration::from_millis(200);
/// So much of what it says is kept, in bytes and in lines.
const KEPT: usize = 4096;
const LINES: usize = 5;

/// A server that has ended before it was told to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEnded {
    /// Its status, as shells tell it.
    pub status: i32,
    /// The last lines that it wrote to its standard error.
    pub said: Vec<String>,
}

/// A server at work, which ends with whoever holds it.
#[derive(Debug)]
pub(super) struct Server {
    name: String,
    running: Running,
    said: Arc<Mutex<VecDeque<u8>>>,
    /// Hears when all has been said.
    silent: Receiver<()>,
}

impl Server {
    /// Starts a server. What it writes goes to this process's standard error, so that standard output is the near program's
    /// alone.
    pub(super) fn start(program: &Program, namespace: &Namespace) -> io::Result<Self> {
        let ours = || io::stderr().as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from);
        let mut running = Running::start_as(program, namespace, |command| {
            command.stdout(ours()).stderr(Stdio::piped());
        })
        .map_err(|error| io::Error::new(error.kind(), format!("the server {error}")))?;
        let said = Arc::default();
        let (tell, silent) = channel();
        if let Some(from) = running.take_stderr() {
            let kept = Arc::clone(&said);
            thread::Builder::new().name("server's words".to_owned()).spawn(move || {
                hand_on(from, &kept);
                // Nobody listens where the session has ended.
                let _ = tell.send(());
            })?;
        }
        let words: Vec<_> = program.command.iter().map(|word| word.to_string_lossy()).collect();
        Ok(Self { name: words.join(" "), running, said, silent })
    }

    /// Waits until somebody listens in the namespace, or for so long that nobody will. One that has ended well may have left
    /// another process behind that will.
    ///
    /// # Errors
    /// Where it has failed, with what it said.
    pub(super) fn await_listener(&mut self, namespace: &Namespace) -> io::Result<()> {
        let clock = Clock::start();
        while clock.now().since(Time::ZERO) < LISTENS_WITHIN {
            if namespace.run(is_listened)? {
                return Ok(());
            }
            if let Some(ended) = self.ended()?.filter(|ended| ended.status != 0) {
                let (name, status, said) = (&self.name, ended.status, ended.said.join("\n"));
                let colon = if said.is_empty() { "" } else { ":\n" };
                return Err(io::Error::other(format!(
                    "the server `{name}` ended with status {status} before it could serve{colon}{said}"
                )));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// What became of it, if it has ended.
    pub(super) fn ended(&mut self) -> io::Result<Option<ServerEnded>> {
        let Some(status) = self.running.has_ended()? else { return Ok(None) };
        // Processes that it has started may go on talking: they are not waited for.
        let _ = self.silent.recv_timeout(WORDS_WITHIN);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = last_lines(said.make_contiguous());
        Ok(Some(ServerEnded { status: status_of(status), said }))
    }

    /// Ends it, and hands on what it says to that.
    pub(super) fn end(self) -> io::Result<()> {
        self.running.end()?;
        let _ = self.silent.recv_timeout(WORDS_WITHIN);
        Ok(())
    }
}

/// Writes all that comes to standard error, and keeps the last of it.
fn hand_on(mut from: ChildStderr, kept: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; KEPT];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => {
                // Where there is no standard error, what is kept is all.
                let _ = io::stderr().write_all(&piece[..length]);
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&piece[..length]);
                let beyond = kept.len().saturating_sub(KEPT);
                kept.drain(..beyond);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// The last lines of some output that are not empty.
fn last_lines(said: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|&line| line.to_owned()).collect()
}

/// Whether there is a socket in the calling thread's namespace that listens for connections, or takes datagrams.
fn is_listened() -> bool {
    const LISTENS: &str = "0A";
    let has = |table: &str, wanted: fn(&str) -> bool| {
        let text = std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        text.lines().skip(1).any(|line| line.split_whitespace().nth(3).is_some_and(wanted))
    };
    let (connections, datagrams) = (["tcp", "tcp6"], ["udp", "udp6"]);
    connections.iter().any(|table| has(table, |state| state == LISTENS))
        || datagrams.iter().any(|table| has(table, |_| true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_without_empty_ones() {
        assert_eq!(last_lines(b""), Vec::<String>::new());
        assert_eq!(last_lines(b"one\n\n two \r\nthree"), ["one", " two", "three"]);
        assert_eq!(last_lines(b"1\n2\n3\n4\n5\n6\n7\n"), ["3", "4", "5", "6", "7"]);
    }
}
