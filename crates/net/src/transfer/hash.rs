//! The hash of a file's bytes.

use std::fs::File;
use std::io::{self, Read};

use ring::digest::{Context, SHA256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// Size and hash of what a file holds. `go_on` hears how much was read, and can stop it.
///
/// # Errors
/// Of the file; `Interrupted` where it was stopped.
pub fn hash_of(file: &mut File, go_on: &mut dyn FnMut(u64) -> bool) -> io::Result<(u64, Hash)> {
    let (mut context, mut buffer, mut size) = (Context::new(&SHA256), vec![0; CHUNK], 0);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((size, finished(context))),
            Ok(length) => {
                context.update(&buffer[..length]);
                size += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if !go_on(size) {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
}

/// The hash of all that was put into a context.
pub(super) fn finished(context: Context) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}
