//! The choice of a source in a scenario. What each does lives in its own file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker};

use super::{
    AnySource, Bulk, Datagrams, DatagramsConfig, Files, FilesConfig, OnOff, OnOffConfig, Replay,
    ReplayConfig, Surge, SurgeConfig, Video, VideoConfig,
};

/// One transfer, finite or without end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkConfig {
    /// How much, headers not counted; without end where absent.
    pub size: Option<Bytes>,
}

impl BulkConfig {
    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        if let Some(size) = self.size {
            let ok = size > Bytes::ZERO && size < Bytes::MAX;
            checker.require(ok, "size", size, "at least 1 B, or absent for a transfer without end");
        }
    }
}

/// An application that sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum SourceConfig {
    /// One transfer, finite or without end.
    Bulk(BulkConfig),
    /// Bursts and pauses.
    OnOff(OnOffConfig),
    /// Files one after another, with pauses between them.
    Files(FilesConfig),
    /// Datagrams at even or Poisson intervals.
    Datagrams(DatagramsConfig),
    /// A recorded trace.
    Replay(ReplayConfig),
    /// A user of the web: pages of files with heavy-tailed sizes, short pauses within pages and long ones between them
    /// (SURGE; Barford and Crovella 1998).
    Surge(SurgeConfig),
    /// A video coder, whose quantiser may follow the directed rate.
    Video(VideoConfig),
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self::Bulk(BulkConfig::default())
    }
}

impl SourceConfig {
    /// The names of all sources.
    pub const NAMES: [&str; 7] = ["bulk", "on-off", "files", "datagrams", "replay", "surge", "video"];

    /// The source's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bulk(_) => "bulk",
            Self::OnOff(_) => "on-off",
            Self::Files(_) => "files",
            Self::Datagrams(_) => "datagrams",
            Self::Replay(_) => "replay",
            Self::Surge(_) => "surge",
            Self::Video(_) => "video",
        }
    }

    /// Complains about every value that is not allowed.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::Bulk(config) => config.check(checker),
            Self::OnOff(config) => config.check(checker),
            Self::Files(config) => config.check(checker),
            Self::Datagrams(config) => config.check(checker),
            Self::Replay(config) => config.check(checker),
            Self::Surge(config) => config.check(checker),
            Self::Video(config) => config.check(checker),
        }
    }

    /// The source, not yet started. A replay's file must have been loaded before.
    pub fn build(&self) -> AnySource {
        match self.clone() {
            Self::Bulk(config) => AnySource::Bulk(Bulk::finite(config.size.unwrap_or(Bytes::MAX))),
            Self::OnOff(config) => AnySource::OnOff(Box::new(OnOff::new(config))),
            Self::Files(config) => AnySource::Files(Box::new(Files::new(config))),
            Self::Datagrams(config) => AnySource::Datagrams(Box::new(Datagrams::new(config))),
            Self::Replay(config) => AnySource::Replay(Box::new(Replay::new(config))),
            Self::Surge(config) => AnySource::Surge(Box::new(Surge::new(config))),
            Self::Video(config) => AnySource::Video(Box::new(Video::new(config))),
        }
    }
}
