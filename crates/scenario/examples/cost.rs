//! One scenario as one process, for whoever counts its instructions or times it from outside: prints one line of JSON with how
//! many packets arrived, events and the hash of its tables. What is compared with what is the business of `benches/schemes.py`.
//!
//! Usage: `cost SCENARIO.json`.

use tailback_scenario::table::{Column, Table};
use tailback_scenario::{Budget, Problems, Run, Start};

/// The same as in the compiled core.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The sum of a column of whole numbers.
fn total(table: &Table, name: &str) -> u64 {
    let columns = table.0.iter().filter(|(column, _)| *column == name);
    columns.map(|(_, column)| if let Column::U64(values) = column { values.iter().sum() } else { 0 }).sum()
}

/// Runs a scenario to its end, and tells of it.
fn run(text: &str) -> Result<String, Problems> {
    let start = Start { seed: Some(1), budget: Budget::default(), wheel: false, go_on: &mut || true };
    let outcome = Run::read(text, start)?.finish()?;
    let [delivered, sent] = ["received_packets", "sent_packets"].map(|name| total(&outcome.flows, name));
    let (events, hash) = (outcome.events, outcome.hash);
    Ok(format!("{{\"delivered\":{delivered},\"sent\":{sent},\"events\":{events},\"hash\":\"{hash}\"}}"))
}

fn main() {
    let path = std::env::args().nth(1).expect("the first argument names a scenario's file");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    match run(&text) {
        Ok(line) => println!("{line}"),
        Err(problems) => {
            eprintln!("{problems}");
            std::process::exit(1);
        }
    }
}
