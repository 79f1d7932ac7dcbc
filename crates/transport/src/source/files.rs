//! Sessions: files one after another, each followed by a pause that begins when it was completely acknowledged, as of
//! a user who reads what was fetched (Tuan and Park, §4.1: heavy-tailed sizes, exponential pauses).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Span, Stream, Time};

use super::Distribution;
use super::drawn::Drawn;
use super::parts::{BoxedSource, Offer, Source, SourceKind};

/// What carries the files of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// A new connection for every file: each begins in slow start.
    #[default]
    PerFile,
    /// One connection that is kept.
    Kept,
}

/// Sessions of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilesConfig {
    /// How large files are, headers not counted. Default Pareto with mean 12 kB and shape 1.2.
    pub size: Drawn<Bytes>,
    /// How long pauses are. Default exponential with mean 1 s.
    pub pause: Drawn<Span>,
    /// What carries the files: `per-file`, a new connection for each, or `kept`, one for all. Default per-file.
    pub connection: Connection,
    /// The session ends after so many files; by default never.
    pub count: Option<u64>,
    /// Whether the session begins with a pause, so that many of them do not begin in step. Default false.
    pub pause_first: bool,
}

impl Default for FilesConfig {
    fn default() -> Self {
        Self {
            size: Distribution::pareto(Bytes::new(12_000), 1.2).into(),
            pause: Distribution::exponential(Span::from_secs(1)).into(),
            connection: Connection::PerFile,
            count: None,
            pause_first: false,
        }
    }
}

impl SourceKind for FilesConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "files";

    fn check(&self, checker: &mut Checker) {
        checker.within("size", |size| self.size.check(size));
        checker.within("pause", |pause| self.pause.check(pause));
        if let Some(count) = self.count {
            checker.require(count > 0, "count", count, "at least 1 file");
        }
    }

    fn build(&self) -> BoxedSource {
        Box::new(Files::new(self.clone()))
    }
}

/// A session, running.
#[derive(Clone, Debug)]
pub struct Files {
    config: FilesConfig,
    next: Option<Time>,
    sent: u64,
    awaiting: bool,
    finished: bool,
}

impl Files {
    /// A session that has not started.
    pub const fn new(config: FilesConfig) -> Self {
        Self { config, next: None, sent: 0, awaiting: false, finished: false }
    }
}

impl Source for Files {
    fn start(&mut self, now: Time, rng: &mut Stream) {
        if self.finished {
            return;
        }
        let pause = if self.config.pause_first { self.config.pause.sample(rng) } else { Span::ZERO };
        self.next = Some(now + pause);
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, rng: &mut Stream) -> Option<Offer> {
        self.next.take_if(|due| *due <= now)?;
        let new_connection = self.config.connection == Connection::PerFile && self.sent > 0;
        self.sent += 1;
        self.finished = self.config.count.is_some_and(|count| self.sent >= count);
        self.awaiting = !self.finished;
        Some(Offer { bytes: self.config.size.sample(rng), new_connection, ends_message: true })
    }

    fn on_message_done(&mut self, now: Time, rng: &mut Stream) {
        if std::mem::take(&mut self.awaiting) {
            self.next = Some(now + self.config.pause.sample(rng));
        }
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
        self.awaiting = false;
        self.finished = true;
    }
}
