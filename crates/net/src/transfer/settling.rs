//! A file of which all bytes are there: whether they have the offered hash, and are on the disk. What is there before that, and
//! what becomes of the file then, is in `partial.rs`.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::io::Errno;

use super::hash::{Hash, hash_of};

/// A file that is being settled. The thread that reads it stops when this is dropped.
pub struct Settling {
    thread: JoinHandle<io::Result<Settled>>,
    wanted: Arc<()>,
}

/// What came of it.
#[derive(Debug)]
pub enum Settled {
    /// The bytes have the offered hash, and are on the disk.
    Right,
    /// They do not have it.
    Wrong,
    /// The disk did not take all of them, or does not give them back. Which ones, nobody can say, and a later try cannot be believed:
    /// a system that could not write its copy of them keeps that for written.
    Unsynced(io::Error),
}

/// What is known of a file that is to be settled.
pub(super) struct Written {
    pub(super) path: PathBuf,
    /// What was written to.
    pub(super) there: Metadata,
    /// The hash of what was written, where all of it is known.
    pub(super) known: Option<Hash>,
    /// What was offered.
    pub(super) size: u64,
    pub(super) hash: Hash,
}

impl Settling {
    /// Begins.
    ///
    /// # Errors
    /// Where the system has no more threads.
    pub(super) fn begin(written: Written) -> io::Result<Self> {
        let wanted = Arc::new(());
        let heard = Arc::downgrade(&wanted);
        // A sender that comes again and again would otherwise have as many threads read all of it.
        let settle = move || settled(&written, &mut |_| heard.strong_count() > 0);
        let thread = thread::Builder::new().name("settling".to_owned()).spawn(settle)?;
        Ok(Self { thread, wanted })
    }

    /// Whether it is known what came of it.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for what came of it.
    ///
    /// # Errors
    /// Where the file cannot be read, or is another one.
    pub fn join(self) -> io::Result<Settled> {
        let Self { thread, wanted } = self;
        let outcome = thread.join();
        drop(wanted);
        outcome.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }
}

/// Whether it is the disk that has failed, and not that there is no room on it or that something is forbidden.
pub(super) fn has_failed(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::IO)
}

/// Whether what was written is what was offered; then it is brought to the disk.
fn settled(written: &Written, go_on: &mut dyn FnMut(u64) -> bool) -> io::Result<Settled> {
    // Opened anew: a copy of what is open elsewhere would keep the lock when nobody waits for the thread any more.
    let mut file = File::open(&written.path)?;
    let hash = match written.known.map_or_else(|| Ok(hash_of(&mut file, go_on)?.1), Ok) {
        Err(error) if has_failed(&error) => return Ok(Settled::Unsynced(error)),
        outcome => outcome?,
    };
    let there = file.metadata()?;
    if (there.dev(), there.ino()) != (written.there.dev(), written.there.ino()) {
        return Err(io::Error::other("somebody else has put another file in its place"));
    }
    if hash != written.hash || there.len() != written.size {
        return Ok(Settled::Wrong);
    }
    Ok(file.sync_all().map_or_else(Settled::Unsynced, |()| Settled::Right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::folder::Folder;

    #[test]
    fn what_nobody_waits_for_is_not_read_to_its_end() {
        const LONG: u64 = 1 << 31;
        let folder = Folder::new("unwanted");
        let path = folder.path().join("film");
        let file = File::create(&path).expect("made");
        file.set_len(LONG).expect("long");
        let there = file.metadata().expect("there");
        let written = Written { path, there, known: None, size: LONG, hash: [0; 32] };
        let Settling { thread, wanted } = Settling::begin(written).expect("begun");
        drop(wanted);
        let error = thread.join().expect("no panic").expect_err("stopped");
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
