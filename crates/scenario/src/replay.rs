//! Reading the files that replaying sources name. What a line means is said in `transport`.

use std::path::Path;

use tailback_core::FieldError;

use crate::parts::SourceConfig;
use crate::scenario::Scenario;

/// Reads every replay file, relative to `base`, and writes its entries into the scenario, which then stands by itself.
pub(crate) fn inline(scenario: &mut Scenario, base: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        let SourceConfig::Replay(config) = &mut flow.source.0 else { continue };
        let Some(file) = &config.file else { continue };
        let path = base.join(file);
        let text = crate::file::read(&path);
        if let Err(problem) = text.and_then(|text| config.load(&text).map_err(|error| error.to_string())) {
            errors.push(FieldError {
                field: format!("flows[{index}].source.file"),
                value: format!("{} ({problem})", path.display()),
                allowed: "a readable file with a time and an amount per line, such as \"125 ms, 1500 B\", or bare numbers \
                          below a heading with their units, such as \"ms,bytes\""
                    .to_owned(),
            });
            continue;
        }
        let last = config.entries.last().map_or(tailback_core::Span::ZERO, |entry| entry.at);
        if let Some(every) = config.repeat_every.filter(|every| *every < last) {
            errors.push(FieldError {
                field: format!("flows[{index}].source.repeat_every"),
                value: every.to_string(),
                allowed: format!("at least the last entry's time, {last}"),
            });
        }
    }
    errors
}
