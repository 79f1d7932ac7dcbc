//! Queues within lanes and classes while the line serves others: to a queue that is empty the line is idle, whatever it does.

use tailback_core::{Capacity, DropReason, Span, Stream, Time};

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

/// Packets of this size that come at random, at so many per second on average, for so long.
fn at_random(flow: u32, size: u64, per_second: f64, seconds: u64, rng: &mut Stream) -> Vec<Job> {
    let mut clock = 0.0;
    let arrivals = std::iter::from_fn(|| {
        clock += rng.exponential() / per_second;
        (clock < seconds as f64).then_some(clock)
    });
    arrivals.map(|at| Job { at: Time::from_nanos((at * 1e9) as u64), ..Job::new(0, flow, size) }).collect()
}

/// By flow, how long packets wait on average that come after so many seconds, in milliseconds, and how many leave per second.
fn waits(written: &str, jobs: &[Job], from: u64, flows: usize) -> Vec<(f64, f64)> {
    let outcome = serve(&mut build(&config(written), Capacity::Packets(1000)), jobs, 1);
    let from = Time::ZERO + Span::from_secs(from);
    let until = jobs.last().expect("some").at;
    let mut sums = vec![(0.0, 0.0); flows];
    for left in outcome.departures.iter().filter(|left| left.arrived >= from) {
        let (waited, count) = &mut sums[left.flow as usize];
        *waited += left.started.since(left.arrived).as_secs_f64() * 1e3;
        *count += 1.0;
    }
    sums.into_iter()
        .map(|(waited, count)| (waited / count, count / until.since(from).as_secs_f64()))
        .collect()
}

/// Two queues of PIE have three quarters of the line and a quarter of it, and each gets a third more than it can send. The mean
/// delay is the target's, to a tenth: a packet takes a twentieth of it, and what comes at random does the rest.
#[test]
fn pie_holds_its_delay_with_any_part_of_the_line() {
    let pie = r#"{"name":"pie","target":"20 ms"}"#;
    let rng = &mut Stream::new(7, "arrivals");
    let mut jobs = at_random(0, 750, 1333.0, 80, rng);
    jobs.extend(at_random(1, 250, 1333.0, 80, rng));
    jobs.sort_by_key(|job| job.at);
    for written in [
        format!(
            r#"{{"name":"priority","classes":[{{"flows":[0],"lane":0}},{{"flows":[1],"lane":1}}],"lanes":[
                {{"queue":{{"name":"token-bucket","rate":"6 Mbit/s","burst":"1 kB","queue":{pie}}}}},{{"queue":{pie}}}]}}"#
        ),
        // Both always have tokens of their own, and take turns packet by packet.
        format!(
            r#"{{"name":"token-bucket","rate":"8 Mbit/s","burst":"1 kB","queue":{pie},
                "classes":[{{"flows":[0],"rate":"8 Mbit/s","burst":"1 kB","queue":{pie}}}]}}"#
        ),
    ] {
        for (flow, (delay, _)) in waits(&written, &jobs, 20, 2).into_iter().enumerate() {
            assert!((delay / 20.0 - 1.0).abs() < 0.1, "{delay} ms of flow {flow} under {written}");
        }
    }
}

/// In a lane that has a quarter of the line, REM keeps 20 packets waiting and AVQ leaves the lane a fiftieth of its time idle, as
/// each does alone. REM's queue is its target to a tenth; AVQ's rate to a hundredth of the lane's.
#[test]
fn rem_and_avq_know_how_fast_their_lane_is() {
    let rng = &mut Stream::new(7, "arrivals");
    let mut jobs = at_random(1, 1000, 325.0, 160, rng);
    jobs.extend((0..120_000).map(|number| Job::new(number * 4000 / 3, 0, 1000)));
    jobs.sort_by_key(|job| job.at);
    let in_a_lane = |inner: &str| {
        let written = format!(
            r#"{{"name":"priority","lanes":[{{}},{{"queue":{inner}}}],
                "classes":[{{"flows":[0],"lane":0}},{{"flows":[1],"lane":1}}]}}"#
        );
        waits(&written, &jobs, 60, 2)[1]
    };
    // 4 ms of the lane each.
    let (delay, _) = in_a_lane(r#"{"name":"rem","gamma":0.05,"alpha":0.01,"phi":1.01}"#);
    assert!((delay / 80.0 - 1.0).abs() < 0.1, "REM: {delay} ms");
    let (_, rate) = in_a_lane(r#"{"name":"avq"}"#);
    assert!((rate / 250.0 - 0.98).abs() < 0.01, "AVQ: {rate} per second");
}
