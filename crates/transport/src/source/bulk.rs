//! One transfer, finite or without end, offered whole at the start. Sequences of transfers live in `files.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Stream, Time};

use super::parts::{Offer, Source, SourceKind};

/// One transfer, finite or without end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkConfig {
    /// How much, headers not counted; without end where absent.
    pub size: Option<Bytes>,
}

impl SourceKind for BulkConfig {
    type Source = Bulk;

    const NAME: &'static str = "bulk";

    fn check(&self, checker: &mut Checker) {
        if let Some(size) = self.size {
            let ok = size > Bytes::ZERO && size < Bytes::MAX;
            checker.require(ok, "size", size, "at least 1 B, or absent for a transfer without end");
        }
    }

    fn build(&self) -> Bulk {
        Bulk::finite(self.size.unwrap_or(Bytes::MAX))
    }

    fn is_endless(&self) -> bool {
        self.size.is_none()
    }

    fn has_messages(&self) -> bool {
        !SourceKind::is_endless(self)
    }
}

/// One transfer.
#[derive(Clone, Debug)]
pub struct Bulk {
    size: Bytes,
    due: Option<Time>,
    finished: bool,
}

impl Bulk {
    /// A transfer without end.
    pub const fn infinite() -> Self {
        Self::finite(Bytes::MAX)
    }

    /// A transfer of `size`; of [`Bytes::MAX`] without end.
    pub const fn finite(size: Bytes) -> Self {
        Self { size, due: None, finished: false }
    }
}

impl Source for Bulk {
    fn start(&mut self, now: Time, _: &mut Stream) {
        if !self.finished {
            self.due = Some(now);
        }
    }

    fn next_offer(&self) -> Option<Time> {
        self.due
    }

    fn take_offer(&mut self, now: Time, _: &mut Stream) -> Option<Offer> {
        self.due.take_if(|due| *due <= now)?;
        self.finished = true;
        Some(Offer { bytes: self.size, new_connection: false, ends_message: self.size != Bytes::MAX })
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn stop(&mut self, _: Time) {
        self.due = None;
        self.finished = true;
    }
}
