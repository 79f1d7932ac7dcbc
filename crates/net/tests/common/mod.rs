//! What several files of these tests share. Nothing is tested here.

pub(crate) mod accepting;
pub(crate) mod ends;
pub(crate) mod folder;
pub(crate) mod knocks;
pub(crate) mod links;
pub(crate) mod plain;
pub(crate) mod relay;
pub(crate) mod routed;
pub(crate) mod words;
