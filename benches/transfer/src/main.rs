//! Bulk over loopback, encryption on in both: bytes per second of processor time, both ends together, alternating with quinn.
//! `cargo run --release -- MEGABYTES ROUNDS`.

mod ours;
mod theirs;

use rustix::time::{ClockId, clock_gettime};
use tailback_core::Time;
use tailback_net::Clock;

/// Processor time of this process, in seconds.
fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// What one transfer of so many bytes took: seconds on the wall, and of the processor.
fn measured(run: impl FnOnce()) -> (f64, f64) {
    let (wall, used) = (Clock::start(), cpu());
    run();
    (wall.now().since(Time::ZERO).as_secs_f64(), cpu() - used)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<usize>().expect("a number"));
    let (megabytes, rounds) = (words.next().unwrap_or(200), words.next().unwrap_or(7));
    let bytes = megabytes * 1_000_000;
    let schemes = ["cubic", "newreno"];
    let mut found = vec![(Vec::new(), Vec::new()); schemes.len() + 1];
    for _ in 0..rounds {
        let mut results: Vec<(f64, f64)> =
            schemes.iter().map(|scheme| measured(|| ours::transfer(scheme, bytes))).collect();
        results.push(measured(|| theirs::transfer(bytes)));
        for ((walls, cpus), (wall, cpu)) in found.iter_mut().zip(results) {
            walls.push(bytes as f64 / wall / 1e6);
            cpus.push(bytes as f64 / cpu / 1e6);
        }
    }
    println!("{megabytes} MB over loopback, median of {rounds} alternating runs, both ends in one process");
    for (name, (walls, cpus)) in
        schemes.iter().map(|scheme| format!("tailback, {scheme}")).chain(["quinn, cubic".to_owned()]).zip(found)
    {
        println!("{name:>18}: {:7.0} MB per second of processor time, {:7.0} MB/s", median(cpus), median(walls));
    }
}
