//! Where an offered file goes: the names of it and of what there is of it, whether it is wanted there, and whether there is room.
//! What is written there is `partial.rs`'s business. Errors are in words for the sender.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::fs::{OFlags, statvfs};
use tailback_core::Bytes;

use super::hash::{Hash, finished};
use super::offer::Offer;
use crate::secure::keys::KEY;

/// Who sends it, by the long-term key; nobody knows in the clear.
pub(super) type Sender = Option<[u8; KEY]>;

/// The end of the names of files that are not complete, which begin with a dot.
const SUFFIX: &str = ".partial";

/// So many characters of a file's name are in that of what there is of it.
const SHORT: usize = 40;

/// Somebody else who may write here could have put a link or a pipe in its place.
const NEITHER_LINK_NOR_PIPE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);

/// What has an offered file's name.
pub(super) enum There {
    /// Nothing, or what may be replaced.
    Free,
    /// A file of its size, which may be all of it.
    Alike,
}

/// What has the name of an offered file, whose place is `whole`.
///
/// # Errors
/// Where the file cannot have it.
pub(super) fn there(whole: &Path, offer: &Offer, overwrite: bool) -> Result<There, String> {
    if offer.name.starts_with('.') && offer.name.ends_with(SUFFIX) {
        return Err(format!("{} is a name of files that are not complete; expected another one", offer.name));
    }
    match whole.symlink_metadata() {
        Ok(there) if there.is_dir() => Err(format!("{} is a folder; expected a file", offer.name)),
        Ok(there) if !overwrite => {
            let is_alike = there.is_file() && there.len() == offer.size.get();
            if is_alike { Ok(There::Alike) } else { Err(in_the_way(offer)) }
        }
        // Under the name that a partial file has, which is shorter, this would be found out when all is there.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => said(offer)(error),
        _ => Ok(There::Free),
    }
}

/// Where what there is of it is kept. Files of one name and different bytes have different partial files, and so have two senders:
/// who only knows the hash of another's file could offer it, and send other bytes, or say that it is shorter.
pub(super) fn partial(folder: &Path, offer: &Offer, sender: Sender) -> PathBuf {
    let mark = mark(offer, sender)[..8].iter().fold(0, |mark, byte| mark << 8 | u64::from(*byte));
    let short: String = offer.name.chars().take(SHORT).collect();
    folder.join(format!(".{short}.{mark:016x}{SUFFIX}"))
}

/// What tells a file of a sender from all others.
fn mark(offer: &Offer, sender: Sender) -> Hash {
    let mut context = Context::new(&SHA256);
    context.update(&offer.hash);
    context.update(&offer.size.get().to_be_bytes());
    context.update(&sender.unwrap_or_default());
    finished(context)
}

/// What there is of other files of this name, which have changed since, for example, or came from somebody else: nobody goes on
/// with it, unless the same bytes come again from there. Of a longer name nothing is said: other long names may begin like it.
pub(super) fn others(folder: &Path, offer: &Offer, sender: Sender) -> Vec<PathBuf> {
    if offer.name.chars().count() > SHORT {
        return Vec::new();
    }
    let own = partial(folder, offer, sender);
    let is_other = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let rest = name.and_then(|name| name.strip_prefix('.')?.strip_prefix(&offer.name)?.strip_prefix('.'));
        let mark = rest.and_then(|rest| rest.strip_suffix(SUFFIX)).unwrap_or_default();
        let is_mark =
            mark.len() == 16 && mark.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        is_mark && *path != own
    };
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_other).collect();
    found.sort();
    found
}

/// An open file, which may be locked: for nobody else meanwhile. The lock ends with this. Closing alone does not end it where a
/// program is just being started: until that is its own, it has all that its parent had open, the lock included, and a sender
/// that comes again is told that its file is being received already.
pub(super) struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // Where there is no lock, nothing happens; where it cannot be taken off, closing does it.
        let _ = self.0.unlock();
    }
}

impl Deref for Held {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

/// Opens what has the name of an offered file, to read it and nothing else.
pub(super) fn opened_whole(whole: &Path, offer: &Offer) -> Result<Held, String> {
    let flags = NEITHER_LINK_NOR_PIPE.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(whole).map(Held).or_else(said(offer))
}

/// Opens what there is of it, or begins; for nobody else meanwhile.
pub(super) fn opened_partial(path: &Path, offer: &Offer) -> Result<Held, String> {
    let flags = NEITHER_LINK_NOR_PIPE.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true).custom_flags(flags);
    let file = options.open(path).map(Held).or_else(said(offer))?;
    file.try_lock().or_else(|error| match error {
        TryLockError::WouldBlock => Err(format!("{} is being received already", offer.name)),
        TryLockError::Error(error) => said(offer)(error),
    })?;
    if !file.metadata().or_else(said(offer))?.is_file() {
        return said(offer)(io::Error::other("what there is of it is no file"));
    }
    Ok(file)
}

/// Whether there is room for what is not there yet.
pub(super) fn expect_room(folder: &Path, offer: &Offer, have: u64) -> Result<(), String> {
    let lacks = offer.size.get() - have;
    // Where nobody knows, it is found out.
    let Ok(system) = statvfs(folder) else { return Ok(()) };
    let room = system.f_bavail.saturating_mul(system.f_frsize);
    if room >= lacks {
        return Ok(());
    }
    let (lacks, room) = (Bytes::new(lacks), Bytes::new(room));
    let more = if have > 0 { " more" } else { "" };
    Err(format!("{} needs {lacks}{more}, and there is room for {room}", offer.name))
}

/// Why a file is not wanted where another one has its name.
pub(super) fn in_the_way(offer: &Offer) -> String {
    format!(
        "{} is there already, and is another file; expected another name, or recv --overwrite",
        offer.name
    )
}

/// What the system says of it, under the offered name: the folder is nobody else's business.
pub(super) fn said<T>(offer: &Offer) -> impl Fn(io::Error) -> Result<T, String> + '_ {
    |error| Err(format!("{}: {error}", offer.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::folder::Folder;

    const SENDER: Sender = Some([8; KEY]);

    /// Not its own, and nothing that only looks like one.
    #[test]
    fn what_there_is_of_other_files_of_a_name_is_found() {
        let folder = Folder::new("others");
        let offer = |name: &str, mark| Offer {
            name: name.to_owned(),
            size: Bytes::new(7),
            hash: [mark; 32],
            flow: String::new(),
        };
        let long = "f".repeat(SHORT + 1);
        let all = [offer("film", 1), offer("film", 0xab), offer("film.0101010101010101", 1), offer(&long, 1)];
        for offer in &all {
            File::create(partial(folder.path(), offer, SENDER)).expect("made");
        }
        for name in ["film", "film.0101010101010101.partial", ".film.01.partial", ".film.partial"] {
            File::create(folder.path().join(name)).expect("made");
        }
        File::create(folder.path().join(".film.01010101010101AB.partial")).expect("made");
        let found = |offer: &Offer, sender| others(folder.path(), offer, sender);
        let [first, second] = [0, 1].map(|index| partial(folder.path(), &all[index], SENDER));
        assert_eq!(found(&all[0], SENDER), std::slice::from_ref(&second));
        let mut both = [first, second];
        both.sort();
        let neither = offer("film", 2);
        assert_eq!(found(&neither, SENDER), both);
        assert_eq!(found(&all[0], Some([9; KEY])), both, "of another sender");
        assert_eq!(found(&offer(&long, 2), SENDER), Vec::<PathBuf>::new());
        assert_eq!(others(&folder.path().join("nowhere"), &neither, SENDER), Vec::<PathBuf>::new());
    }
}
