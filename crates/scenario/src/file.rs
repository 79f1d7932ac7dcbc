//! Reading the text files that users name: scenarios, traces, replays. What they mean is said by whoever asks.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file taken seriously.
const LARGEST: u64 = 256 << 20;

/// The contents of a file, or what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    // Opening a pipe would wait for its writer, perhaps for ever.
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err(if about.is_dir() { "a folder" } else { "a pipe or a device" }.to_owned());
    }
    let mut data = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(LARGEST + 1).read_to_end(&mut data).map_err(|error| error.to_string())?;
    if data.len() as u64 > LARGEST {
        return Err(format!("more than {} MiB", LARGEST >> 20));
    }
    String::from_utf8(data)
        .map_err(|error| format!("no UTF-8 text from byte {} on", error.utf8_error().valid_up_to()))
}
