//! Mahimahi delivery traces: each line is a time in milliseconds at which the link may deliver one opportunity's worth of
//! bytes (Netravali et al., USENIX ATC 2015, §3.2), and the trace begins again at its end. The configuration lives here,
//! parsing and delivery in `link`.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, FieldError};
use tailback_link::DeliveryTrace;

use crate::scenario::Scenario;
use crate::template::TopologyConfig;

/// A recorded trace that drives a link in place of a constant rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// The file: one whole number of milliseconds per line, never decreasing, repeated numbers for several opportunities
    /// in one millisecond. Relative to the scenario's file.
    pub file: String,
    /// How much one opportunity delivers. Mahimahi's is 1504 bytes (1500 and its own header); most published traces mean
    /// 1500.
    #[serde(default = "opportunity")]
    pub opportunity: Bytes,
    /// A 128-bit digest of the file's contents, filled in when the scenario is loaded, so that a result is tied to the
    /// trace that it was made with. Where given, it must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What the file says, once the scenario is loaded.
    #[serde(skip)]
    pub times: Option<DeliveryTrace>,
}

fn opportunity() -> Bytes {
    Bytes::new(1504)
}

impl TraceConfig {
    /// Complains about opportunities that deliver nothing.
    pub fn check(&self, checker: &mut Checker) {
        checker.require(!self.file.is_empty(), "file", "\"\"", "the path of a trace file");
        checker.require(
            self.opportunity.get() > 0,
            "opportunity",
            self.opportunity,
            "an amount of at least 1 B",
        );
    }
}

/// Reads a trace file.
///
/// # Errors
/// An unreadable file, a bad line (with its number), an empty trace, or contents that do not match the configured
/// digest.
fn read(config: &TraceConfig, base: &Path, field: &str) -> Result<(DeliveryTrace, String), FieldError> {
    let path = base.join(&config.file);
    let complaint =
        |value: String, allowed: String| FieldError { field: format!("{field}.file"), value, allowed };
    let text = crate::file::read(&path).map_err(|problem| {
        complaint(format!("{} ({problem})", path.display()), "a readable trace file".to_owned())
    })?;
    let times = DeliveryTrace::parse(&text, config.opportunity)
        .map_err(|problem| complaint(format!("{} ({problem})", path.display()), FORMAT.to_owned()))?;
    let digest = crate::hash::digest(text.as_bytes());
    match &config.digest {
        Some(expected) if *expected != digest => Err(FieldError {
            field: format!("{field}.digest"),
            value: expected.clone(),
            allowed: format!("{digest}, the digest of {} as it is now", path.display()),
        }),
        _ => Ok((times, digest)),
    }
}

const FORMAT: &str = "one whole number of milliseconds per line, never decreasing, the last above zero";

/// Every trace of a scenario, with the path of its table.
pub(crate) fn of(scenario: &mut Scenario) -> Vec<(String, &mut TraceConfig)> {
    let links = match &mut scenario.topology {
        TopologyConfig::Dumbbell(dumbbell) => vec![(String::new(), &mut dumbbell.bottleneck)],
        TopologyConfig::ParkingLot(lot) => vec![(String::new(), &mut lot.link)],
        TopologyConfig::Star(star) => vec![(String::new(), &mut star.link)],
        TopologyConfig::Home(home) => vec![(String::new(), &mut home.line)],
        TopologyConfig::Graph(graph) => {
            let links = graph.links.iter_mut().enumerate();
            links.map(|(index, link)| (format!("links[{index}]."), &mut link.link)).collect()
        }
    };
    let mut found = Vec::new();
    for (path, link) in links {
        let reverse = link.reverse.as_mut().and_then(|reverse| reverse.trace.as_mut());
        found.extend(link.trace.as_mut().map(|trace| (format!("topology.{path}trace"), trace)));
        found.extend(reverse.map(|trace| (format!("topology.{path}reverse.trace"), trace)));
    }
    found
}

/// Reads every trace, relative to `base`, into the scenario, which then needs no file any more; notes where it lay and its
/// digest.
pub(crate) fn locate(scenario: &mut Scenario, base: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, trace) in of(scenario) {
        match read(trace, base, &field) {
            Ok((times, digest)) => {
                let path = base.join(&trace.file);
                trace.file = std::path::absolute(&path).unwrap_or(path).display().to_string();
                trace.digest = Some(digest);
                trace.times = Some(times);
            }
            Err(error) => errors.push(error),
        }
    }
    errors
}
