//! A folder of its own for a test. What tests put into it is their business.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// Removed with all that is in it when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty one; names differ among the tests of one program.
    pub(crate) fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tailback-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
