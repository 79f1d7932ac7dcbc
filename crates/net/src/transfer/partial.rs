//! A file that is not complete yet: under a name of its own beside the place where it belongs, which it takes only when it is
//! whole and has the right hash. What there is of it outlives the process, so that a later one goes on. Where that is, is said in
//! `place.rs`, and whether the hash is right in `settling.rs`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::hash::{Hash, finished};
use super::offer::Offer;
use super::place::{self, Held, There, said};
use super::settling::{Settling, Written};
use crate::secure::keys::KEY;

/// What there is of a file.
pub struct Partial {
    file: Held,
    path: PathBuf,
    whole: PathBuf,
    size: u64,
    hash: Hash,
    have: u64,
    /// The hash so far, where all bytes have passed here.
    running: Option<Context>,
    overwrite: bool,
    /// Whether it is under its name already: an earlier transfer was complete, and its sender may not have heard so.
    is_kept: bool,
}

impl Partial {
    /// Goes on with what there is of a file that somebody offers, or begins. What came from another sender is not touched: that it
    /// is the same file, only its hash could say, when all is there. What has its name and its size may be all of it: whether it is,
    /// [`Partial::settle_beside`] finds out.
    ///
    /// # Errors
    /// In words for the sender: the file is there, there is no room for it, or the folder cannot be written to.
    pub fn open(
        folder: &Path,
        offer: &Offer,
        sender: Option<[u8; KEY]>,
        overwrite: bool,
    ) -> Result<Self, String> {
        let whole = folder.join(&offer.name);
        if let There::Alike = place::there(&whole, offer, overwrite)? {
            return Self::kept(whole, offer);
        }
        let path = place::partial(folder, offer, sender);
        let file = place::opened_partial(&path, offer)?;
        let size = offer.size.get();
        let mut have = file.metadata().or_else(said(offer))?.len();
        if have > size {
            file.set_len(0).or_else(said(offer))?;
            have = 0;
        }
        if let Err(why) = place::expect_room(folder, offer, have) {
            if have == 0 {
                let _ = fs::remove_file(&path);
            }
            return Err(why);
        }
        let running = (have == 0).then(|| Context::new(&SHA256));
        Ok(Self { file, path, whole, size, hash: offer.hash, have, running, overwrite, is_kept: false })
    }

    /// What has the offered name and size. It is read, and nothing else.
    fn kept(whole: PathBuf, offer: &Offer) -> Result<Self, String> {
        let file = place::opened_whole(&whole, offer)?;
        let (size, hash) = (offer.size.get(), offer.hash);
        let (path, running, overwrite) = (whole.clone(), None, false);
        Ok(Self { file, path, whole, size, hash, have: size, running, overwrite, is_kept: true })
    }

    /// Whether it was under its name before.
    pub fn is_kept(&self) -> bool {
        self.is_kept
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

    /// Where it belongs when it is whole.
    pub fn whole(&self) -> &Path {
        &self.whole
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
            match (&*self.file).write(rest) {
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

    /// Whether the bytes have the offered hash, found out in a thread of its own, which also brings them to the disk where they
    /// have: either may take longer than a sender waits for a word. Bytes that passed here are not read again; that the file still
    /// has all of them, and is still the one in its place, is looked at.
    ///
    /// The name must not outlive the bytes: many file systems keep a new name before the data behind it, and a loss of power
    /// would leave a file that looks whole and is not. The sender, who was told that all is well, may have removed its own by
    /// then. It is once for a file, so once for a run of the receiver; for a small file that is a few milliseconds or less of
    /// a disk, beside a handshake over the network.
    ///
    /// # Errors
    /// Of the disk, and where the system has no more threads.
    pub fn settle_beside(&mut self) -> io::Result<Settling> {
        Settling::begin(Written {
            path: self.path.clone(),
            there: self.file.metadata()?,
            known: self.running.take().map(finished),
            size: self.size,
            hash: self.hash,
        })
    }

    /// Gives the file its name, for good. What of it is on the disk is [`Partial::settle_beside`]'s business.
    ///
    /// # Errors
    /// Of the disk, and where there is a file of this name by now.
    pub fn keep(self) -> io::Result<PathBuf> {
        if self.is_kept {
            return Ok(self.whole);
        }
        let flags = if self.overwrite { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, &self.path, CWD, &self.whole, flags) {
            // Some file systems cannot promise it. A link that leads nowhere is there, too.
            Err(Errno::INVAL | Errno::NOSYS) if self.whole.symlink_metadata().is_err() => {
                fs::rename(&self.path, &self.whole)?;
            }
            outcome => outcome?,
        }
        if let Some(folder) = self.whole.parent() {
            // A loss of power before this is done leaves the file under the one name or the other, complete under both; that it
            // is the new one is worth trying, and not worth an error.
            let _ = File::open(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
                .and_then(|folder| folder.sync_all());
        }
        Ok(self.whole)
    }

    /// Throws away what there is, unless it has its name.
    ///
    /// # Errors
    /// Of the disk.
    pub fn discard(&self) -> io::Result<()> {
        if self.is_kept {
            return Ok(());
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::folder::Folder;
    use std::os::unix::fs::symlink;

    use super::super::settling::Settled;
    use tailback_core::Bytes;

    const SENDER: Option<[u8; KEY]> = Some([8; KEY]);

    fn offer(name: &str, bytes: &[u8]) -> Offer {
        let mut context = Context::new(&SHA256);
        context.update(bytes);
        let (size, hash) = (Bytes::new(bytes.len() as u64), finished(context));
        Offer { name: name.to_owned(), size, hash, flow: String::new() }
    }

    fn is_right(settled: io::Result<Settled>) -> bool {
        match settled.expect("settled") {
            Settled::Right => true,
            Settled::Wrong => false,
            Settled::Unsynced(error) => panic!("{error}"),
        }
    }

    fn refused(folder: &Folder, offer: &Offer, overwrite: bool) -> String {
        Partial::open(folder.path(), offer, SENDER, overwrite).err().expect("refused")
    }

    #[test]
    fn a_file_is_settled_and_then_has_its_name() {
        let folder = Folder::new("settled");
        for (name, split) in [("at once", None), ("taken up", Some(3))] {
            let offer = offer(name, b"whole");
            let mut partial = Partial::open(folder.path(), &offer, SENDER, false).expect("opened");
            if let Some(split) = split {
                partial.append(&b"whole"[..split]).expect("written");
                drop(partial);
                partial = Partial::open(folder.path(), &offer, SENDER, false).expect("opened again");
            }
            let have = partial.have() as usize;
            partial.append(&b"whole"[have..]).expect("written");
            assert!(partial.is_complete());
            assert!(is_right(partial.settle_beside().expect("begun").join()), "{name}");
            assert_eq!(fs::read(partial.keep().expect("kept")).expect("there"), b"whole");
        }
        let wrong = Offer { hash: [7; 32], ..offer("wrong", b"whole") };
        let mut partial = Partial::open(folder.path(), &wrong, SENDER, false).expect("opened");
        partial.append(b"whole").expect("written");
        assert!(!is_right(partial.settle_beside().expect("begun").join()));
    }

    /// The hash of what was written does not say what is there.
    #[test]
    fn what_somebody_else_changes_meanwhile_is_not_taken_for_whole() {
        let folder = Folder::new("changed");
        let offer = offer("film", b"whole");
        let settled = |change: &dyn Fn(&Path)| {
            let mut partial = Partial::open(folder.path(), &offer, SENDER, false).expect("opened");
            partial.append(b"who").expect("written");
            change(partial.path());
            partial.append(b"le").expect("written");
            let outcome = partial.settle_beside().expect("begun").join();
            let _ = partial.discard();
            outcome
        };
        assert!(is_right(settled(&|_| {})));
        let cut = |place: &Path| File::options().write(true).open(place).and_then(|file| file.set_len(1));
        assert!(!is_right(settled(&|place| cut(place).expect("cut"))));
        let replace = |place: &Path| fs::remove_file(place).and_then(|()| fs::write(place, b"whole"));
        let error = settled(&|place| replace(place).expect("replaced")).expect_err("another file");
        assert_eq!(error.to_string(), "somebody else has put another file in its place");
        let error = settled(&|place| fs::remove_file(place).expect("removed")).expect_err("none");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    /// A program that is being started has what this one has open, until it is its own.
    #[test]
    fn what_is_let_go_of_can_be_taken_up_whoever_has_it_open_still() {
        let folder = Folder::new("still open");
        let offer = offer("film", b"whole");
        let first = Partial::open(folder.path(), &offer, SENDER, false).expect("opened");
        let still = first.file.try_clone().expect("as a program gets it");
        assert!(refused(&folder, &offer, false).contains("being received already"));
        drop(first);
        Partial::open(folder.path(), &offer, SENDER, false).expect("opened again");
        drop(still);
    }

    /// A sender that comes again while its file is settled need not wait for that.
    #[test]
    fn what_is_being_settled_can_be_taken_up() {
        let folder = Folder::new("again");
        let offer = Offer { size: Bytes::new(1 << 26), ..offer("film", b"") };
        let place = Partial::open(folder.path(), &offer, SENDER, false).expect("opened").path().to_owned();
        File::create(place).and_then(|file| file.set_len(1 << 26)).expect("long");
        let mut first = Partial::open(folder.path(), &offer, SENDER, false).expect("opened");
        let settling = first.settle_beside().expect("begun");
        assert!(refused(&folder, &offer, false).contains("being received already"));
        drop(first);
        assert!(Partial::open(folder.path(), &offer, SENDER, false).expect("opened again").is_complete());
        settling.join().expect("read");
    }

    #[test]
    fn what_there_is_no_room_for_is_refused_and_what_is_there_of_it_stays() {
        let folder = Folder::new("room");
        let huge = Offer { size: Bytes::new(1 << 60), ..offer("film", b"whole") };
        let said = refused(&folder, &huge, false);
        assert!(said.starts_with("film needs ") && said.contains(" B, and there is room for "), "{said}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left");
        let place = place::partial(folder.path(), &huge, SENDER);
        fs::write(&place, b"who").expect("written");
        let said = refused(&folder, &huge, false);
        assert!(said.contains(" B more, and there is room for "), "{said}");
        assert_eq!(fs::read(place).expect("there"), b"who");
    }

    /// They know its hash, because they have the file, too, or were told: what there is of it stays as it was, and goes on.
    #[test]
    fn what_came_from_one_sender_is_not_touched_by_another() {
        let folder = Folder::new("senders");
        let film = offer("film", b"whole");
        let mut partial = Partial::open(folder.path(), &film, SENDER, false).expect("opened");
        partial.append(b"who").expect("written");
        let place = partial.path().to_owned();
        drop(partial);
        for (sender, size) in [(Some([9; KEY]), 5), (Some([9; KEY]), 1), (Some([9; KEY]), 0), (None, 5)] {
            let same = Offer { size: Bytes::new(size), ..film.clone() };
            let mut other = Partial::open(folder.path(), &same, sender, false).expect("opened");
            assert_eq!(other.have(), 0, "{size}");
            other.append(&b"wrong"[..size as usize]).expect("written");
            other.discard().expect("thrown away");
            assert_eq!(fs::read(&place).expect("there"), b"who");
        }
        // Nor by its own, where that says another size.
        let shorter = Offer { size: Bytes::new(1), ..film.clone() };
        assert_eq!(Partial::open(folder.path(), &shorter, SENDER, false).expect("opened").have(), 0);
        assert_eq!(Partial::open(folder.path(), &film, SENDER, false).expect("opened").have(), 3);
    }

    /// Not even where nothing is in it, which is no reason to keep a partial file.
    #[test]
    fn what_was_under_its_name_before_is_never_thrown_away() {
        let folder = Folder::new("before");
        fs::write(folder.path().join("film"), b"").expect("written");
        let mut partial = Partial::open(folder.path(), &offer("film", b""), SENDER, false).expect("alike");
        assert!(partial.is_kept() && is_right(partial.settle_beside().expect("begun").join()));
        partial.discard().expect("nothing to do");
        assert_eq!(fs::read(folder.path().join("film")).expect("there"), b"");
    }

    /// Neither a link nor a pipe in its place is followed, and what a link leads to stays as it is.
    #[test]
    fn what_somebody_else_has_put_in_its_place_is_not_written_to() {
        let folder = Folder::new("link");
        let offer = offer("film", b"whole");
        let place = Partial::open(folder.path(), &offer, SENDER, false).expect("opened").path().to_owned();
        fs::remove_file(&place).expect("removed");
        fs::write(folder.path().join("precious"), b"longer than what is offered").expect("written");
        symlink(folder.path().join("precious"), &place).expect("linked");
        assert!(refused(&folder, &offer, true).starts_with("film: "));
        assert_eq!(fs::read(folder.path().join("precious")).expect("there"), b"longer than what is offered");
        fs::remove_file(&place).expect("removed");
        rustix::fs::mknodat(CWD, &place, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        assert_eq!(refused(&folder, &offer, true), "film: what there is of it is no file");
    }

    #[test]
    fn what_could_not_be_kept_at_the_end_is_refused_at_the_beginning() {
        let folder = Folder::new("refused");
        fs::create_dir(folder.path().join("film")).expect("a folder");
        assert_eq!(refused(&folder, &offer("film", b"whole"), true), "film is a folder; expected a file");
        // Longer than a path can be (PATH_MAX), with the folder; the name of what is not complete is not.
        let mut deep = folder.path().to_owned();
        while deep.as_os_str().len() < 3900 {
            let rest = 3902 - deep.as_os_str().len();
            deep.push("d".repeat(rest.min(100)));
        }
        fs::create_dir_all(&deep).expect("folders");
        let long = offer(&"f".repeat(255), b"whole");
        let said = Partial::open(&deep, &long, SENDER, false).err().expect("refused");
        assert_eq!(said, format!("{}: File name too long (os error 36)", long.name));
        assert_eq!(fs::read_dir(&deep).expect("a folder").count(), 0, "nothing is left");
        // The second is as long as what is offered.
        for (name, to) in [("link", "nowhere"), ("alike", "where")] {
            symlink(to, folder.path().join(name)).expect("linked");
            assert_eq!(
                refused(&folder, &offer(name, b"whole"), false),
                format!(
                    "{name} is there already, and is another file; expected another name, or recv --overwrite"
                )
            );
        }
        // The name of this very file while it is not complete.
        let dots = ".".repeat(42);
        let plain = place::partial(Path::new(""), &offer("a", b"whole"), SENDER);
        let marked = plain.to_str().and_then(|name| name.strip_prefix(".a.")).expect("a name");
        let own = format!("{dots}{marked}");
        assert_eq!(place::partial(Path::new(""), &offer(&own, b"whole"), SENDER), Path::new(&own));
        for name in [&own, ".film.0123456789abcdef.partial"] {
            assert!(refused(&folder, &offer(name, b"whole"), true).contains("not complete"), "{name}");
        }
        Partial::open(folder.path(), &offer("thesis.partial", b"whole"), SENDER, false)
            .expect("a name like others");
    }
}
