//! Disciplines written a second time, each from its text and without a look at the first writing, and the same random
//! arrivals through both: every packet leaves or is dropped at the same time for the same reason, with the same mark.
//!
//! Framed and hierarchical round robin, the shaper, drop-head and random drop, AVD, RED's adaptation and the turns of DualPI2
//! were written with a look at the first writing, since their texts do not fix what is compared here.
//!
//! The second writings are plain and slow. What they leave out is said at each. Here is how two writings are compared, and the
//! comparison of what acts on arrivals, of CoDel, CAKE and fair servers; the others' stands beside them.

#![allow(
    unreachable_pub,
    clippy::cast_possible_wrap,
    clippy::struct_excessive_bools,
    clippy::type_complexity,
    reason = "the second writings are as plain as their texts, and each is used by one test"
)]

mod acks;
mod arrivals;
mod autorate;
mod cake;
mod changing;
mod codel;
mod dualpi2;
mod fair;
mod lines;
mod meters;
mod periodic;
mod room;
mod shared;

use proptest::prelude::*;
use tailback_core::{Capacity, Ecn, Span, Time};

use tailback_qdisc::sampled::Sampler;
use tailback_qdisc::{BuildCx, Fifo, KnownFlows, Limit};

use crate::common::wild::{Rates, capacities, rates, wild};
use crate::common::{self, Job, Outcome, config, serve_at};

/// The first difference of two outcomes, in words.
fn difference(ours: &Outcome, anew: &Outcome) -> Option<String> {
    let drop = |outcome: &Outcome, at: usize| outcome.drops.get(at).copied();
    let leaves = |outcome: &Outcome, at: usize| {
        outcome.departures.get(at).map(|d| (d.started, d.job, d.packet.ecn(), d.packet))
    };
    let drops = (0..=ours.drops.len()).find(|at| drop(ours, *at) != drop(anew, *at));
    let departures = (0..=ours.departures.len()).find(|at| leaves(ours, *at) != leaves(anew, *at));
    (ours != anew).then(|| {
        let brief =
            |outcome: &Outcome, at: usize| leaves(outcome, at).map(|(at, job, ecn, _)| (at, job, ecn));
        format!(
            "drop {drops:?}: {:?} or {:?}; departure {departures:?}: {:?} or {:?}; marks {} or {}",
            drops.and_then(|at| drop(ours, at)),
            drops.and_then(|at| drop(anew, at)),
            departures.and_then(|at| brief(ours, at)),
            departures.and_then(|at| brief(anew, at)),
            ours.marks,
            anew.marks
        )
    })
}

/// What becomes of the arrivals by the discipline as written first.
fn ours(written: &str, capacity: Capacity, jobs: &[Job], rates: Rates) -> Outcome {
    let link = BuildCx { rate: rates.at(Time::ZERO), ..common::link(capacity) };
    serve_at(&mut config(written).build(&link).into_discipline(), jobs, 1, &|now| rates.at(now))
}

fn ms(count: f64) -> Span {
    Span::from_secs_f64(count * 1e-3)
}

/// The first difference of both FQ-CoDels.
fn fq_codel_differs(
    jobs: &[Job],
    capacity: Capacity,
    rates: Rates,
    ecn: bool,
    quantum: i64,
    queues: u32,
) -> Option<String> {
    let written = format!(
        r#"{{"name":"fq-codel","target":"1 ms","interval":"5 ms","ecn":{ecn},"quantum":"{quantum} B","queues":{queues}}}"#
    );
    let ours = ours(&written, capacity, jobs, rates);
    let law = codel::Law::new(ms(1.0), ms(5.0), ecn);
    let mut second = codel::FqCodel::new(law, quantum, queues, capacity);
    let anew = serve_at(&mut second, jobs, 1, &|now| rates.at(now));
    // Which of two equals is meant, no text says.
    difference(&ours, &anew).filter(|_| !second.tied)
}

proptest! {
    #![proptest_config(common::cases(400))]

    #[test]
    fn codel(jobs in wild(3, 150), capacity in capacities(), rates in rates(), ecn: bool, slow: bool) {
        let (target, interval) = if slow { (5, 100) } else { (1, 5) };
        let written = format!(r#"{{"name":"codel","target":"{target} ms","interval":"{interval} ms","ecn":{ecn}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let law = codel::Law::new(Span::from_millis(target), Span::from_millis(interval), ecn);
        let anew = serve_at(&mut codel::Codel::new(law, capacity), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn fq_codel(
        jobs in wild(6, 150), capacity in capacities(), rates in rates(), ecn: bool, one: bool,
        quantum in prop_oneof![Just(1514_i64), Just(300), Just(16), Just(9000)],
    ) {
        let queues = if one { 1_u32 } else { 4_000_000_000 };
        prop_assert_eq!(fq_codel_differs(&jobs, capacity, rates, ecn, quantum, queues), None);
    }

    #[test]
    fn pie(
        jobs in wild(3, 200), capacity in capacities(), rates in rates(), ecn: bool, derandomize: bool,
        burst in prop_oneof![Just(0_u64), Just(3), Just(150)], period in prop_oneof![Just(1_u64), Just(15)],
        gain in prop_oneof![Just(1.0), Just(40.0), Just(3000.0)],
    ) {
        let (alpha, beta) = (0.125 * gain, 1.25 * gain);
        let written = format!(r#"{{"name":"pie","target":"2 ms","period":"{period} ms","alpha":{alpha},"beta":{beta},
            "burst":"{burst} ms","ecn":{ecn},"derandomize":{derandomize},"mark_limit":0.3}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = arrivals::Pie {
            target: 0.002, alpha, beta, max_burst: burst as f64 * 1e-3, derandomize, ecn, mark_limit: 0.3,
            ..arrivals::Pie::new(Span::from_millis(period), capacity, rates.at(Time::ZERO))
        };
        let anew = serve_at(&mut Fifo::new(anew.starting()), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn avq(jobs in wild(3, 200), capacity in capacities(), rates in rates(), ecn: bool, slow: bool) {
        let gain = if slow { 0.15 } else { 0.6 };
        let written = format!(r#"{{"name":"avq","virtual_buffer":"3 kB","ecn":{ecn},"gain":{gain}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = arrivals::Avq::new(gain, 3000.0, ecn, capacity, rates.at(Time::ZERO));
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn pi(jobs in wild(3, 200), capacity in capacities(), rates in rates(), ecn: bool) {
        let written = format!(r#"{{"name":"pi","target":"3 packets","a":0.02,"b":0.01,"ecn":{ecn}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = arrivals::Pi {
            gains: (0.02, 0.01), target: 3.0, ecn, limit: Limit::new(capacity),
            sampler: Sampler::new(Span::from_secs_f64(1.0 / 160.0)), before: 0.0, probability: 0.0,
        };
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn rem(jobs in wild(3, 200), capacity in capacities(), rates in rates(), ecn: bool) {
        let written = format!(
            r#"{{"name":"rem","target":"3 packets","gamma":0.05,"alpha":0.2,"phi":1.2,"period":"2 ms","ecn":{ecn}}}"#
        );
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = arrivals::Rem {
            target: 3.0, gamma: 0.05, alpha: 0.2, phi: 1.2, period: 0.002, ecn, limit: Limit::new(capacity),
            sampler: Sampler::new(Span::from_millis(2)), arrived: 0.0, price: 0.0,
        };
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn step(jobs in wild(3, 200), capacity in capacities(), rates in rates(), drop_others: bool) {
        let written = format!(r#"{{"name":"step","threshold":"3 kB","drop_others":{drop_others}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = arrivals::Step { bytes: 3000, drop_others, limit: Limit::new(capacity) };
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn policer(jobs in wild(3, 200), capacity in capacities(), rates in rates()) {
        let written = r#"{"name":"policer","rate":"3 Mbit/s","burst":"4000 B"}"#;
        let ours = ours(written, capacity, &jobs, rates);
        let depth = 4000 * 8_000_000_000;
        let anew = arrivals::Policer { rate: 3_000_000, depth, tokens: depth, at: Time::ZERO, limit: Limit::new(capacity) };
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn red(
        jobs in wild(3, 200), capacity in capacities(), rates in rates(), ecn: bool, gentle: bool, wait: bool,
        weight in prop_oneof![Just(0.5), Just(0.1), Just(0.002)],
    ) {
        let written = format!(r#"{{"name":"red","min":"2 packets","max":"6 packets","max_p":0.2,"weight":{weight},
            "gentle":{gentle},"wait":{wait},"ecn":{ecn}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = arrivals::Red {
            min: 2.0, max: 6.0, max_p: 0.2, weight, gentle, wait, ecn, bytes: false, limit: Limit::new(capacity),
            average: 0.0, count: 0.0, above: false, adapted: None,
        };
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn adaptive_red(
        jobs in wild(3, 400), capacity in capacities(), rates in rates(), ecn: bool, gentle: bool,
        weight in prop_oneof![Just(None), Just(Some(0.1))],
    ) {
        let given = weight.map_or(String::new(), |weight: f64| format!(r#""weight":{weight},"#));
        let written = format!(r#"{{"name":"red","min":"2 packets","max":"6 packets","max_p":0.2,{given}
            "gentle":{gentle},"adaptive":true,"ecn":{ecn}}}"#);
        let ours = ours(&written, capacity, &jobs, rates);
        let packets = rates.at(Time::ZERO).bytes_per_sec() / common::MEAN_PACKET.as_f64();
        let anew = arrivals::Red {
            min: 2.0, max: 6.0, max_p: 0.2, weight: weight.unwrap_or(-(-1.0 / packets).exp_m1()), gentle, wait: true, ecn, bytes: false,
            limit: Limit::new(capacity), average: 0.0, count: 0.0, above: false, adapted: Some(Time::ZERO),
        };
        let anew = serve_at(&mut Fifo::new(anew), &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn frames(jobs in wild(6, 150), capacity in capacities(), rates in rates(), levels in 1..4_usize) {
        // A packet at a thousand bits per second waits for a million frames.
        let rates = Rates { first: rates.first.max(1_000_000), ..rates };
        let shares = r#""buffer":{"victim":"arriving"},"shares":[{"flows":[1],"weight":2},{"flows":[2],"weight":0.3}]"#;
        let weight: fair::Weight = |flow| [1.0, 2.0, 0.3, 1.0, 1.0, 1.0][flow as usize];
        let (written, all) = framed(levels, shares);
        let ours = ours(&written, capacity, &jobs, rates);
        let mut anew = fair::Frames::new(all, rates.at(Time::ZERO).bytes_per_sec(), 0.1, weight, capacity);
        let anew = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    /// Of one kind of traffic, or of both: how the queues take turns is not fixed by the text, and is the library's choice.
    #[test]
    fn dualpi2(
        jobs in wild(3, 200), capacity in capacities(), rates in rates(), kinds in 0..3_usize,
        gain in prop_oneof![Just(1.0), Just(10.0)],
    ) {
        let (alpha, beta) = (0.15 * gain, 3.0 * gain);
        let written = format!(r#"{{"name":"dualpi2","alpha":{alpha},"beta":{beta}}}"#);
        let jobs: Vec<Job> = jobs
            .into_iter()
            .map(|job| Job { ecn: match (kinds, job.ecn) {
                (0, Ecn::Ect0) => Ecn::Ce, (0, Ecn::NotEct) => Ecn::Ect1,
                (1, Ecn::Ce) => Ecn::NotEct, (1, Ecn::Ect1) => Ecn::Ect0, (_, ecn) => ecn,
            }, ..job })
            .collect();
        let ours = ours(&written, capacity, &jobs, rates);
        let mut anew = dualpi2::DualPi2 {
            // The same number as delays are made with: a bit beside it, sums of likelihoods are not 1 at the same packet.
            target: ms(15.0).as_secs_f64(), alpha, beta, ramp: (800e3, 1200e3),
            ..dualpi2::DualPi2::new(Span::from_millis(15), capacity)
        };
        let anew = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn cake(
        jobs in wild(5, 150), capacity in capacities(), rates in rates(), ingress: bool,
        tins in 0..5_usize, isolation in 0..5_usize, framing in 0..3_usize,
        rate in prop_oneof![2 => Just(None), 2 => Just(Some(6_000_000_u64)), 1 => Just(Some(640_000)), 1 => Just(Some(1_000_000_000))],
        rtt in prop_oneof![Just(5_u64), Just(100)],
        ends in prop::array::uniform5((0_u32..2, 0_u32..3)),
    ) {
        let (tin_names, tin_settings) = TINS[tins];
        let (isolation_name, flows, by) = [
            ("flowblind", false, (false, false)), ("flows", true, (false, false)), ("dual-srchost", true, (true, false)),
            ("dual-dsthost", true, (false, true)), ("triple-isolate", true, (true, true)),
        ][isolation];
        let (frame, length): (_, fn(u64) -> u64) = [
            (r#""overhead":"0 B""#, (|size| size) as fn(u64) -> u64),
            (r#""overhead":"44 B","least_frame":"84 B","framing":"atm""#, |size| (size + 44).max(84).div_ceil(48) * 53),
            (r#""overhead":"22 B","least_frame":"68 B","framing":"ptm""#, |size| {
                let framed = (size + 22).max(68);
                framed + framed.div_ceil(64)
            }),
        ][framing];
        let shaped = rate.map_or(String::new(), |rate| format!(r#""rate":"{rate} bit/s","#));
        let written = format!(r#"{{"name":"cake",{shaped}"rtt":"{rtt} ms","ingress":{ingress},"tins":"{tin_names}",
            "isolation":"{isolation_name}",{frame},"codepoints":[{{"flows":[1],"codepoint":"EF"}},
            {{"flows":[2],"codepoint":"CS1"}},{{"flows":[3],"codepoint":"AF41"}}]}}"#);
        let hosts: KnownFlows = ends.into_iter().collect();
        let link = BuildCx { flows: hosts.clone(), ..common::link(capacity) };
        let ours = serve_at(&mut config(&written).build(&link).into_discipline(), &jobs, 1, &|now| rates.at(now));
        let (shares, tin_of) = tin_settings();
        let settings = cake::Settings {
            rate, rtt: Span::from_millis(rtt), ingress, tins: shares, tin_of, by, flows, length, hosts,
        };
        let mut second = cake::Cake::new(settings, capacity);
        let anew = serve_at(&mut second, &jobs, 1, &|now| rates.at(now));
        // Which of two equals is meant, no text says.
        prop_assert_eq!(difference(&ours, &anew).filter(|_| !second.tied), None);
    }

    #[test]
    fn rounds(jobs in wild(6, 200), capacity in capacities(), rates in rates(), which in 0..3_usize) {
        let shares = r#","buffer":{"victim":"arriving"},"shares":[{"flows":[1],"weight":2},{"flows":[2],"weight":0.3}]"#;
        let weight: fair::Weight = |flow| [1.0, 2.0, 0.3, 1.0, 1.0, 1.0][flow as usize];
        let bytes: fn(u64) -> f64 = |size| size as f64;
        let (written, mut anew) = match which {
            0 => (format!(r#"{{"name":"deficit-round-robin","quantum":"700 B"{shares}}}"#),
                fair::Rounds::new(700.0, weight, bytes, capacity)),
            1 => (format!(r#"{{"name":"weighted-round-robin"{shares}}}"#),
                fair::Rounds::new(1.0, weight, |_| 1.0, capacity)),
            _ => (r#"{"name":"round-robin","buffer":{"victim":"arriving"}}"#.to_owned(),
                fair::Rounds::new(1.0, |_| 1.0, |_| 1.0, capacity)),
        };
        let ours = ours(&written, capacity, &jobs, rates);
        let anew = serve_at(&mut anew, &jobs, 1, &|now| rates.at(now));
        prop_assert_eq!(difference(&ours, &anew), None);
    }

    #[test]
    fn tags(jobs in wild(6, 200), capacity in capacities(), which in 0..4_usize) {
        let shares = r#""buffer":{"victim":"arriving"},"shares":[{"flows":[1],"weight":2.1},{"flows":[2],"weight":0.317},
            {"flows":[3],"weight":1.7},{"flows":[4],"weight":0.93},{"flows":[5],"weight":0.71}]"#;
        let weight: fair::Weight = |flow| [1.0, 2.1, 0.317, 1.7, 0.93, 0.71][flow as usize];
        let (name, more, by) = [
            ("self-clocked-fair-queueing", "", fair::By::Itself),
            ("weighted-fair-queueing", "", fair::By::Fluid),
            ("virtual-clock", r#""reserve":0.1,"#, fair::By::Reserved(0.1)),
            ("cell-round-robin", "", fair::By::Itself),
        ][which];
        let written = format!(r#"{{"name":"{name}",{more}{shares}}}"#);
        let rates = Rates { first: 8_000_000, second: 8_000_000, period: u64::MAX };
        let ours = ours(&written, capacity, &jobs, rates);
        let mut second = fair::Tagged::new(by, weight, capacity);
        second.cells = name == "cell-round-robin";
        let anew = serve_at(&mut second, &jobs, 1, &|now| rates.at(now));
        // Which of two equals is meant, no text says.
        prop_assert_eq!(difference(&ours, &anew).filter(|_| !second.tied), None);
    }
}

/// Framed round robin with these settings, or hierarchical on so many levels: written, and the length in milliseconds, the part
/// and the flows of each level.
fn framed(levels: usize, settings: &str) -> (String, &'static [(u64, f64, &'static [u32])]) {
    match levels {
        1 => (format!(r#"{{"name":"framed-round-robin","frame":"20 ms",{settings}}}"#), &[(20, 1.0, &[])]),
        2 => (
            format!(
                r#"{{"name":"hierarchical-round-robin","levels":[{{"frame":"10 ms","part":0.7,"flows":[0,1]}},
                {{"frame":"70 ms","part":0.2}}],{settings}}}"#
            ),
            &[(10, 0.7, &[0, 1]), (70, 0.2, &[])],
        ),
        _ => (
            format!(
                r#"{{"name":"hierarchical-round-robin","levels":[{{"frame":"10 ms","part":0.4,"flows":[0]}},
                {{"frame":"20 ms","part":0.3,"flows":[2,3]}},{{"frame":"150 ms","part":0.3}}],{settings}}}"#
            ),
            &[(10, 0.4, &[0]), (20, 0.3, &[2, 3]), (150, 0.3, &[])],
        ),
    }
}

/// The parts of the rate and the bytes per turn of each tin, and which tin CS0, EF, CS1, AF41 and CS0 go into.
type TinSettings = (Vec<(f64, i64)>, fn(u32) -> usize);

const TINS: [(&str, fn() -> TinSettings); 5] = [
    ("besteffort", || (vec![(1.0, 65_535)], |_| 0)),
    ("diffserv3", || (vec![(1.0, 1024), (0.0625, 64), (0.25, 256)], |flow| [0, 2, 1, 0, 0][flow as usize])),
    ("diffserv4", || {
        (vec![(1.0, 1024), (0.0625, 64), (0.5, 512), (0.25, 256)], |flow| [0, 3, 1, 2, 0][flow as usize])
    }),
    ("diffserv8", || (eight(), |flow| [2, 6, 1, 3, 2][flow as usize])),
    ("precedence", || (eight(), |flow| [0, 5, 1, 4, 0][flow as usize])),
];

/// Each tin has seven eighths of the one before, and its turn in whole bytes.
fn eight() -> Vec<(f64, i64)> {
    vec![
        (1.0, 256),
        (0.875, 224),
        (0.875_f64.powi(2), 196),
        (0.875_f64.powi(3), 171),
        (0.875_f64.powi(4), 149),
        (0.875_f64.powi(5), 130),
        (0.875_f64.powi(6), 113),
        (0.875_f64.powi(7), 98),
    ]
}
