//! Reading the text files that users name: scenarios, traces, replays. What they mean is said by whoever asks.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file taken seriously: a device or a pipe without end must not fill memory.
const LARGEST: u64 = 256 << 20;

/// The contents of a file, or what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > LARGEST {
        return Err(format!("more than {} MiB", LARGEST >> 20));
    }
    Ok(text)
}
