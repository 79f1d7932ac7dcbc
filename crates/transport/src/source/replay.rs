//! Replay of a recorded trace: at these times, so much data. Reading the file is the caller's business, reading its
//! text is done here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Span, Stream, Time};

use super::parts::{BoxedSource, Offer, Source, SourceKind};

/// One entry of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayEntry {
    /// When, from the source's start on.
    pub at: Span,
    /// How much, headers not counted.
    pub size: Bytes,
}

/// Replay of a recorded trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayConfig {
    /// A text file of entries, relative to the scenario's file: a time and an amount per line, separated by a comma,
    /// with units (`125 ms, 1500 B`); or bare numbers below a heading that names their units, such as
    /// `seconds,bytes`. Empty lines and lines that begin with `#` do not count.
    pub file: Option<String>,
    /// Entries written out, in place of a file. Times must not go back.
    pub entries: Vec<ReplayEntry>,
    /// Begin again after so much time, counted from the beginning; by default the trace is played once. At least
    /// the last entry's time.
    pub repeat_every: Option<Span>,
}

/// What was wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// The line's number, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What was wrong and what is allowed.
    pub message: String,
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReplayError {}

impl SourceKind for ReplayConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "replay";

    fn check(&self, checker: &mut Checker) {
        let one = self.file.is_some() == self.entries.is_empty();
        checker.require(one, "entries", "both or none of `file` and `entries`", "exactly one of them");
        for (index, pair) in self.entries.windows(2).enumerate() {
            let field = format!("entries[{}].at", index + 1);
            checker.require(
                pair[0].at <= pair[1].at,
                &field,
                pair[1].at,
                format_args!("at least {}", pair[0].at),
            );
        }
        for (index, entry) in self.entries.iter().enumerate() {
            let field = format!("entries[{index}].size");
            let ok = entry.size > Bytes::ZERO && entry.size < Bytes::MAX;
            checker.require(ok, &field, entry.size, "at least 1 B");
        }
        if let Some(every) = self.repeat_every {
            let last = self.entries.last().map_or(Span::ZERO, |entry| entry.at);
            let ok = every >= last && !every.is_zero();
            checker.require(ok, "repeat_every", every, format_args!("more than 0 s, at least {last}"));
        }
    }

    fn build(&self) -> BoxedSource {
        Box::new(Replay::new(self.clone()))
    }
}

impl ReplayConfig {
    /// Reads the entries of the file's text, which the caller has read, in place of the file.
    ///
    /// # Errors
    /// The first line that is not an entry, by its number.
    pub fn load(&mut self, text: &str) -> Result<(), ReplayError> {
        self.entries = parse(text)?;
        self.file = None;
        Ok(())
    }
}

/// Reads a trace's text, as [`ReplayConfig::file`] describes it.
///
/// # Errors
/// The first line that is not an entry, by its number.
pub fn parse(text: &str) -> Result<Vec<ReplayEntry>, ReplayError> {
    let mut units = None;
    let mut entries: Vec<ReplayEntry> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fail = |message: String| ReplayError { line: index + 1, message };
        let (at, size) = line
            .split_once([',', ';', '\t'])
            // What stands there is not repeated: it may be a line of any file.
            .ok_or_else(|| fail("not a time and an amount separated by a comma".to_owned()))?;
        let (at, size) = (at.trim(), size.trim());
        if entries.is_empty() && units.is_none() {
            units = heading(at, size);
            if units.is_some() {
                continue;
            }
        }
        let entry = entry(at, size, units).map_err(fail)?;
        if let Some(last) = entries.last().filter(|last| last.at > entry.at) {
            return Err(fail(format!(
                "the time {} comes after {}; times must not go back",
                entry.at, last.at
            )));
        }
        entries.push(entry);
    }
    if entries.is_empty() {
        return Err(ReplayError { line: 0, message: "the trace has no entries".to_owned() });
    }
    Ok(entries)
}

/// The units of bare numbers, if these are the words of a heading.
fn heading(at: &str, size: &str) -> Option<(&'static str, &'static str)> {
    let time = match at.to_ascii_lowercase().as_str() {
        "s" | "seconds" | "time_s" => "s",
        "ms" | "milliseconds" | "time_ms" => "ms",
        "us" | "microseconds" | "time_us" => "us",
        "ns" | "nanoseconds" | "time_ns" => "ns",
        _ => return None,
    };
    matches!(size.to_ascii_lowercase().as_str(), "b" | "bytes" | "size_b").then_some((time, "B"))
}

fn entry(at: &str, size: &str, units: Option<(&str, &str)>) -> Result<ReplayEntry, String> {
    let (at, size) = match units {
        Some((time, amount)) => (format!("{at} {time}"), format!("{size} {amount}")),
        None => (at.to_owned(), size.to_owned()),
    };
    let wrong = |what: &str, such_as: &str| match units {
        Some(_) => format!("not {what} in the heading's unit"),
        None => format!("not {what} with its unit, such as {such_as:?}"),
    };
    let at = at.parse().map_err(|_| wrong("a time", "125 ms"))?;
    let size: Bytes = size.parse().map_err(|_| wrong("an amount", "1500 B"))?;
    if size == Bytes::ZERO {
        return Err("an entry of 0 B; expected at least 1 B".to_owned());
    }
    Ok(ReplayEntry { at, size })
}

/// A trace, running.
#[derive(Clone, Debug)]
pub struct Replay {
    entries: Vec<ReplayEntry>,
    repeat_every: Option<Span>,
    /// When the present round began.
    began: Time,
    index: usize,
    next: Option<Time>,
    finished: bool,
}

impl Replay {
    /// A source that has not started.
    pub fn new(config: ReplayConfig) -> Self {
        let finished = config.entries.is_empty();
        // A round of no length would never let time pass.
        let repeat_every = config.repeat_every.filter(|every| !every.is_zero());
        Self { entries: config.entries, repeat_every, began: Time::ZERO, index: 0, next: None, finished }
    }

    fn schedule(&mut self) {
        if self.index == self.entries.len() {
            match self.repeat_every {
                Some(every) => (self.began, self.index) = (self.began + every, 0),
                None => self.finished = true,
            }
        }
        let entry = self.entries.get(self.index);
        self.next = entry.map(|entry| self.began + entry.at).filter(|_| !self.finished);
    }
}

impl Source for Replay {
    fn start(&mut self, now: Time, _: &mut Stream) {
        if !self.finished {
            self.began = now;
            self.schedule();
        }
    }

    fn next_offer(&self) -> Option<Time> {
        self.next
    }

    fn take_offer(&mut self, now: Time, _: &mut Stream) -> Option<Offer> {
        self.next.filter(|due| *due <= now)?;
        let bytes = self.entries.get(self.index)?.size;
        self.index += 1;
        self.schedule();
        Some(Offer { bytes, new_connection: false, ends_message: true })
    }

    fn on_message_done(&mut self, _: Time, _: &mut Stream) {}

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn stop(&mut self, _: Time) {
        self.next = None;
        self.finished = true;
    }
}
