//! A file that is not complete yet: under a name of its own beside the place where it belongs, which it takes only when it is
//! whole and has the right hash. What there is of it outlives the process, so that a later one goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use ring::digest::{Context, SHA256};
use rustix::fs::{CWD, RenameFlags, renameat_with, statvfs};
use rustix::io::Errno;

use super::hash::{Hash, finished, hash_of};
use super::offer::Offer;

/// What there is of a file.
pub struct Partial {
    file: File,
    path: PathBuf,
    whole: PathBuf,
    size: u64,
    hash: Hash,
    have: u64,
    /// The hash so far, where all bytes have passed here.
    running: Option<Context>,
    overwrite: bool,
}

impl Partial {
    /// Goes on with what there is of an offered file, or begins.
    ///
    /// # Errors
    /// In words for the sender: the file is there, there is no room for it, or the folder cannot be written to.
    pub fn open(folder: &Path, offer: &Offer, overwrite: bool) -> Result<Self, String> {
        let whole = folder.join(&offer.name);
        if !overwrite && whole.symlink_metadata().is_ok() {
            return Err(format!("{} is there already", offer.name));
        }
        // Files of one name and different bytes have different partial files.
        let mark = offer.hash[..8].iter().fold(0, |mark, byte| mark << 8 | u64::from(*byte));
        let short: String = offer.name.chars().take(40).collect();
        let path = folder.join(format!(".{short}.{mark:016x}.partial"));
        let said = |error: io::Error| format!("{}: {error}", offer.name);
        let file = OpenOptions::new().create(true).append(true).read(true).open(&path).map_err(said)?;
        file.try_lock().map_err(|_| format!("{} is being received already", offer.name))?;
        let size = offer.size.get();
        let mut have = file.metadata().map_err(said)?.len();
        if have > size {
            file.set_len(0).map_err(said)?;
            have = 0;
        }
        let room = statvfs(folder).map(|system| system.f_bavail.saturating_mul(system.f_frsize));
        if room.is_ok_and(|room| room < size - have) {
            if have == 0 {
                let _ = fs::remove_file(&path);
            }
            let room = tailback_core::Bytes::new(room.unwrap_or_default());
            return Err(format!(
                "{} needs {}, and there is room for {room}",
                offer.name,
                tailback_core::Bytes::new(size - have)
            ));
        }
        let running = (have == 0).then(|| Context::new(&SHA256));
        Ok(Self { file, path, whole, size, hash: offer.hash, have, running, overwrite })
    }

    /// How many bytes are there.
    pub fn have(&self) -> u64 {
        self.have
    }

    /// Whether all bytes are there.
    pub fn is_complete(&self) -> bool {
        self.have == self.size
    }

    /// Where what there is is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends. What is beyond the offered size is none of the file.
    ///
    /// # Errors
    /// Of the disk; what was written before stays.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > self.size - self.have {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "more bytes than were offered"));
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => {
                    if let Some(running) = &mut self.running {
                        running.update(&rest[..length]);
                    }
                    self.have += length as u64;
                    rest = &rest[length..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the bytes, all of which passed here, have the offered hash; `None` where they did not, and must be read.
    pub fn check(&mut self) -> Option<bool> {
        self.running.take().map(|running| finished(running) == self.hash)
    }

    /// Whether the bytes in the file have the offered hash, found out in a thread of its own.
    pub fn check_beside(&self) -> JoinHandle<io::Result<bool>> {
        let (path, expected) = (self.path.clone(), self.hash);
        thread::spawn(move || Ok(hash_of(&mut File::open(path)?, &mut |_| true)?.1 == expected))
    }

    /// Gives the file its name, for good.
    ///
    /// # Errors
    /// Of the disk, and where there is a file of this name by now.
    pub fn keep(self) -> io::Result<PathBuf> {
        self.file.sync_all()?;
        let flags = if self.overwrite { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, &self.path, CWD, &self.whole, flags) {
            // Some file systems cannot promise it.
            Err(Errno::INVAL) if !self.whole.exists() => fs::rename(&self.path, &self.whole)?,
            outcome => outcome?,
        }
        if let Some(folder) = self.whole.parent() {
            // That the name lasts through a loss of power is worth trying, and not worth an error.
            let _ = File::open(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
                .and_then(|folder| folder.sync_all());
        }
        Ok(self.whole)
    }

    /// Throws away what there is.
    ///
    /// # Errors
    /// Of the disk.
    pub fn discard(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}
