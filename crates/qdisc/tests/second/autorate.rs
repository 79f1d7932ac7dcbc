//! CAKE's estimate of the rate that arrives, written anew from Linux's `sch_cake` (the end of `cake_enqueue`) and the manual of
//! tc-cake before the first writing was read: what arrives is measured from one pause to the next, and the shaper gets 15/16 of
//! it. What the shaper does with its rate is said in `cake`.
//!
//! Where acknowledgements are filtered (`acks`), what goes for the newest is taken from what has arrived, and behind the
//! bottleneck it counts as dropped.
//!
//! After the comparison: what Linux makes of the time since its start is not known here, so the first packet begins a window and
//! is no sample; the period of 250 ms, which Linux names but never notes, begins with it, too. Bytes per second are whole as in
//! Linux, the rate is whole in bits.

use proptest::prelude::*;
use tailback_core::{Capacity, QueueDiscipline, Span, Time};
use tailback_qdisc::{BuildCx, KnownFlows};

use super::acks::Acknowledging;
use super::{TINS, cake, difference};
use crate::common::wild::{Rates, capacities, rates, wild};
use crate::common::{self, Job, config, serve_at};

/// An average that takes in a quarter of a greater sample, and a 256th part of another.
fn follow(average: u64, sample: u64) -> u64 {
    let part = |number: u64| if sample > average { number / 4 } else { number / 256 };
    average - part(average) + part(sample)
}

/// What is known of the rate that arrives.
pub struct Autorate {
    last: Option<Time>,
    /// In nanoseconds.
    gap: u64,
    window_begin: Time,
    window_bytes: u64,
    /// In bytes per second.
    peak: u64,
    changed: Time,
}

impl Autorate {
    pub fn new(rate: Option<u64>) -> Self {
        let (start, peak) = (Time::ZERO, rate.unwrap_or(0) / 8);
        Self { last: None, gap: 0, window_begin: start, window_bytes: 0, peak, changed: start }
    }

    /// A packet has joined, of so many bytes more than another that has gone: the shaper's new rate in bits per second, if it
    /// gets one.
    pub fn arrived(&mut self, now: Time, bytes: i64) -> Option<u64> {
        let Some(last) = self.last.replace(now) else {
            (self.window_begin, self.changed) = (now, now);
            self.gap = follow(self.gap, 1_000_000_000);
            return None;
        };
        self.window_bytes = self.window_bytes.saturating_add_signed(bytes);
        let gap = now.since(last).as_nanos().min(1_000_000_000);
        self.gap = follow(self.gap, gap);
        if gap <= self.gap {
            return None;
        }
        let window = u128::from(now.since(self.window_begin).as_nanos());
        let rate = u128::from(self.window_bytes) * 1_000_000_000 / window;
        self.peak = follow(self.peak, rate as u64);
        (self.window_begin, self.window_bytes) = (now, 0);
        if now <= self.changed + Span::from_millis(250) {
            return None;
        }
        self.changed = now;
        // Half a bit counts as one.
        Some((self.peak * 15).div_ceil(2))
    }
}

/// A shaper to be compared: its rate at first, whether it follows what arrives, and whether it filters acknowledgements.
#[derive(Clone, Copy, Debug)]
struct Shaper {
    rate: Option<u64>,
    rtt: u64,
    ingress: bool,
    tins: usize,
    autorate: bool,
    ack_filter: Option<bool>,
}

/// The first difference of both; small packets are acknowledgements where these are filtered.
fn differs(jobs: &[Job], capacity: Capacity, rates: Rates, shaper: Shaper) -> Option<String> {
    let Shaper { rate, rtt, ingress, tins, autorate, ack_filter } = shaper;
    let (tin_names, tin_settings) = TINS[tins];
    let at_first = rate.map_or(String::new(), |rate| format!(r#""rate":"{rate} bit/s","#));
    let filter = ["off", "on", "aggressive"][ack_filter.map_or(0, |aggressive| 1 + usize::from(aggressive))];
    let written = format!(
        r#"{{"name":"cake",{at_first}"rtt":"{rtt} ms","ingress":{ingress},"tins":"{tin_names}",
        "autorate_ingress":{autorate},"ack_filter":"{filter}","isolation":"flows",
        "codepoints":[{{"flows":[1],"codepoint":"EF"}},{{"flows":[2],"codepoint":"CS1"}},
        {{"flows":[3],"codepoint":"AF41"}}]}}"#
    );
    let hosts: KnownFlows = [(0, 0); 5].into_iter().collect();
    let link = BuildCx { flows: hosts.clone(), ..common::link(capacity) };
    let (shares, tin_of) = tin_settings();
    let settings = cake::Settings {
        rate,
        rtt: Span::from_millis(rtt),
        ingress,
        tins: shares,
        tin_of,
        by: (false, false),
        flows: true,
        length: |size| size,
        hosts,
    };
    let mut second = cake::Cake::new(settings, capacity);
    second.autorate = autorate.then(|| Autorate::new(rate));
    second.ack_filter = ack_filter;
    let serve = |queue: &mut dyn QueueDiscipline| {
        let rate = |now| rates.at(now);
        match ack_filter {
            Some(_) => serve_at(&mut Acknowledging(queue), jobs, 1, &rate),
            None => serve_at(queue, jobs, 1, &rate),
        }
    };
    let ours = serve(&mut config(&written).build(&link).into_discipline());
    let anew = serve(&mut second);
    // Which of two equals is meant, no text says.
    difference(&ours, &anew).filter(|_| !second.tied)
}

fn shapers(autorate: bool, ack_filter: bool) -> impl Strategy<Value = Shaper> {
    let rate = prop_oneof![Just(None), Just(Some(6_000_000_u64)), Just(Some(100_000))];
    let rtt = prop_oneof![Just(5_u64), Just(100)];
    (rate, rtt, any::<bool>(), 0..5_usize, any::<bool>()).prop_map(
        move |(rate, rtt, ingress, tins, aggressive)| Shaper {
            rate,
            rtt,
            ingress,
            tins,
            autorate,
            ack_filter: ack_filter.then_some(aggressive),
        },
    )
}

proptest! {
    #![proptest_config(common::cases(400))]

    #[test]
    fn cake_that_follows_what_arrives(
        jobs in wild(5, 150), capacity in capacities(), rates in rates(), shaper in shapers(true, false),
    ) {
        prop_assert_eq!(differs(&jobs, capacity, rates, shaper), None);
    }

    #[test]
    fn cake_that_filters_and_follows_what_arrives(
        jobs in wild(5, 150), capacity in capacities(), rates in rates(), shaper in shapers(true, true),
    ) {
        prop_assert_eq!(differs(&jobs, capacity, rates, shaper), None);
    }

    #[test]
    fn cake_that_filters(
        jobs in wild(5, 150), capacity in capacities(), rates in rates(), shaper in shapers(false, true),
    ) {
        prop_assert_eq!(differs(&jobs, capacity, rates, shaper), None);
    }
}
