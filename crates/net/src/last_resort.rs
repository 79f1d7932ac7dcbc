//! The end of a process whose work does not end when it is told to, since somebody else's code in it does not come back. How
//! work is told to end is the business of whoever does it.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, pipe};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tailback_core::Span;

use crate::wait::wait;

/// The status of a process that was ended so, as shells have it of one that was killed.
const STATUS: i32 = 128 + 9;

/// While this is kept, the process ends some time after somebody has given the word, whatever its threads are in.
#[derive(Debug)]
pub struct LastResort {
    _kept: PipeWriter,
}

impl LastResort {
    /// The word is that nobody holds the other end of `held` any more; the process then has `grace` to finish its work. `folder`
    /// goes with it, where there is one.
    ///
    /// # Errors
    /// Where the system has no pipe or no thread for it.
    pub fn new(held: OwnedFd, grace: Span, folder: Option<PathBuf>) -> io::Result<Self> {
        let (gone, kept) = pipe()?;
        let until_then = move || watch(&held, &gone, grace, folder.as_deref());
        thread::Builder::new().name("last resort".to_owned()).spawn(until_then)?;
        Ok(Self { _kept: kept })
    }
}

/// Waits for the word, or until the work is done; ends the process where the one comes and the other does not follow.
fn watch(held: &OwnedFd, done: &PipeReader, grace: Span, folder: Option<&Path>) {
    let mut both = [PollFd::new(held, PollFlags::IN), PollFd::new(done, PollFlags::IN)];
    while poll(&mut both, None::<&Timespec>) == Err(Errno::INTR) {}
    if let Ok(false) = wait(done, PollFlags::IN, grace) {
        if let Some(folder) = folder {
            let _ = fs::remove_dir_all(folder); // There is nobody to tell.
        }
        leave();
    }
}

/// Ends the process without a look at its threads.
#[expect(
    unsafe_code,
    reason = "the safe form runs what others have left to be run at the end, which may wait for ever"
)]
fn leave() -> ! {
    // SAFETY: the call takes no memory, and does not come back.
    unsafe { libc::_exit(STATUS) }
}
