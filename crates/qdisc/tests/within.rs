//! Queues within lanes and classes while the line serves others: to a queue that is empty the line is idle, whatever it does.

use tailback_core::{Capacity, DropReason, Time};

use crate::common::{Job, build, config, serve};

const PIE: &str = r#"{"name":"pie","target":"2 ms","burst":"0 ms"}"#;
const RED: &str = r#"{"name":"red","min":"2 packets","max":"8 packets","weight":0.02}"#;

/// When flow 0 begins again.
const PAUSE_ENDS: Time = Time::from_nanos(10_000_000_000);

/// Flow 0 sends 100 packets at once, nothing for ten seconds, and then four at once every 50 ms, which leave within 8 ms.
/// Flow 1 takes half of the line all the time, and is on it whenever flow 0 begins.
fn a_burst_and_later_few() -> Vec<Job> {
    let burst = (0..100).map(|_| Job::new(500, 0, 1000));
    let few = (0..160).map(|number| Job::new(10_000_500 + 50_000 * (number / 4), 0, 1000));
    let others = (0..6000).map(|number| Job::new(2000 * number, 1, 1000));
    let mut jobs: Vec<Job> = burst.chain(few).chain(others).collect();
    jobs.sort_by_key(|job| (job.at, job.flow));
    jobs
}

/// What was left of a burst long ago says nothing of a queue that has been empty since.
#[test]
fn a_queue_that_was_empty_for_seconds_drops_nothing() {
    let jobs = a_burst_and_later_few();
    for inner in [PIE, RED] {
        for written in [
            format!(
                r#"{{"name":"priority","lanes":[{{}},{{"queue":{inner}}}],"classes":[{{"flows":[1],"lane":0}},{{"flows":[0],"lane":1}}]}}"#
            ),
            format!(
                r#"{{"name":"token-bucket","queue":{inner},"classes":[{{"flows":[1],"rate":"8 Mbit/s"}}]}}"#
            ),
        ] {
            let outcome = serve(&mut build(&config(&written), Capacity::Unlimited), &jobs, 1);
            let early = outcome.drops.iter().filter(|(_, reason, _)| *reason == DropReason::Early);
            let late: Vec<usize> =
                early.map(|(job, ..)| *job).filter(|job| jobs[*job].at >= PAUSE_ENDS).collect();
            assert!(late.is_empty(), "{written}: {late:?}");
        }
    }
}

/// A lane without room for a single packet takes one only where it leaves at once.
#[test]
fn what_waits_behind_another_lane_needs_room() {
    let written = r#"{"name":"priority","lanes":[{},{"buffer":"500 B"}],"classes":[{"flows":[1],"lane":0},{"flows":[0],"lane":1}]}"#;
    let jobs =
        [Job::new(0, 0, 1000), Job::new(2000, 1, 1000), Job::new(2500, 0, 1000), Job::new(9000, 0, 1000)];
    let outcome = serve(&mut build(&config(written), Capacity::Unlimited), &jobs, 1);
    let dropped: Vec<usize> = outcome.drops.iter().map(|(job, ..)| *job).collect();
    assert_eq!(dropped, [2]);
}
