//! CAKE's estimate of the rate that arrives, written anew from Linux's `sch_cake` (the end of `cake_enqueue`) and the manual of
//! tc-cake before the first writing was read: what arrives is measured from one pause to the next, and the shaper gets 15/16 of
//! it. What the shaper does with its rate is said in `cake`.
//!
//! After the comparison: what Linux makes of the time since its start is not known here, so the first packet begins a window and
//! is no sample; the period of 250 ms, which Linux names but never notes, begins with it, too. Bytes per second are whole as in
//! Linux, the rate is whole in bits.

use proptest::prelude::*;
use tailback_core::{Span, Time};
use tailback_qdisc::{BuildCx, FlowHosts};

use super::{TINS, cake, difference};
use crate::common::wild::{capacities, rates, wild};
use crate::common::{self, config, serve_at};

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

    /// A packet has joined: the shaper's new rate in bits per second, if it gets one.
    pub fn arrived(&mut self, now: Time, bytes: u64) -> Option<u64> {
        let Some(last) = self.last.replace(now) else {
            (self.window_begin, self.changed) = (now, now);
            self.gap = follow(self.gap, 1_000_000_000);
            return None;
        };
        self.window_bytes += bytes;
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

proptest! {
    #![proptest_config(common::cases(400))]

    #[test]
    fn cake_that_follows_what_arrives(
        jobs in wild(5, 150), capacity in capacities(), rates in rates(), ingress: bool, tins in 0..5_usize,
        rate in prop_oneof![Just(None), Just(Some(6_000_000_u64)), Just(Some(100_000))],
        rtt in prop_oneof![Just(5_u64), Just(100)],
    ) {
        let (tin_names, tin_settings) = TINS[tins];
        let shaped = rate.map_or(String::new(), |rate| format!(r#""rate":"{rate} bit/s","#));
        let written = format!(r#"{{"name":"cake",{shaped}"rtt":"{rtt} ms","ingress":{ingress},"tins":"{tin_names}",
            "autorate_ingress":true,"isolation":"flows","codepoints":[{{"flows":[1],"codepoint":"EF"}},
            {{"flows":[2],"codepoint":"CS1"}},{{"flows":[3],"codepoint":"AF41"}}]}}"#);
        let hosts: FlowHosts = [(0, 0); 5].into_iter().collect();
        let link = BuildCx { hosts: hosts.clone(), ..common::link(capacity) };
        let ours = serve_at(&mut config(&written).build(&link).into_discipline(), &jobs, 1, &|now| rates.at(now));
        let (shares, tin_of) = tin_settings();
        let settings = cake::Settings {
            rate, rtt: Span::from_millis(rtt), ingress, tins: shares, tin_of, by: (false, false), flows: true,
            length: |size| size, hosts,
        };
        let mut second = cake::Cake::new(settings, capacity);
        second.autorate = Some(Autorate::new(rate));
        let anew = serve_at(&mut second, &jobs, 1, &|now| rates.at(now));
        // Which of two equals is meant, no text says.
        prop_assert_eq!(difference(&ours, &anew).filter(|_| !second.tied), None);
    }
}
