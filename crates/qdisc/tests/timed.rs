//! PIE where nobody knows the link's rate: its delay is the time that the oldest packet has waited, also in lanes and under
//! shapers. What it holds on a trace is tested in `tests/test_unsteady_links.py`.

use tailback_core::{
    Annexes, Bytes, Capacity, FlowId, Kind, Packet, QueueCx, QueueDiscipline, Span, Stream, Time,
};
use tailback_qdisc::Discipline;

use crate::common::{config, link};

const PIE: &str = r#"{"name":"pie","period":"15 ms"}"#;

struct Slow {
    queue: Discipline,
    rng: Stream,
}

impl Slow {
    fn call<T>(&mut self, millis: u64, act: impl FnOnce(&mut Discipline, Time, &mut QueueCx<'_>) -> T) -> T {
        let (mut annexes, mut drops) = (Annexes::new(), Vec::new());
        let mut cx = QueueCx {
            rng: &mut self.rng,
            annexes: &mut annexes,
            rate: link(Capacity::Unlimited).rate,
            idle_since: None,
            drops: &mut drops,
            marks: 0,
        };
        act(&mut self.queue, Time::ZERO + Span::from_millis(millis), &mut cx)
    }

    fn arrive(&mut self, millis: u64) {
        let packet = Packet::new(Kind::Data, FlowId(0), millis, Bytes::new(1000));
        self.call(millis, |queue, now, cx| queue.enqueue(now, packet, cx));
    }

    /// What the law holds for the delay, in milliseconds, when a packet has left.
    fn leave(&mut self, millis: u64) -> f64 {
        assert!(self.call(millis, QueueDiscipline::dequeue).is_some());
        self.delay()
    }

    fn delay(&self) -> f64 {
        let mut delay = f64::NAN;
        self.queue.observe(Time::ZERO, &mut |name, value| {
            if name == "queueing_delay_seconds" {
                delay = (value * 1e6).round() / 1e3;
            }
        });
        delay
    }
}

#[test]
fn the_delay_is_the_time_of_the_oldest_packet() {
    for written in [
        PIE.to_owned(),
        format!(
            r#"{{"name":"priority","lanes":[{{}},{{"queue":{PIE}}}],"classes":[{{"flows":[0],"lane":1}}]}}"#
        ),
        format!(r#"{{"name":"token-bucket","rate":"8 Mbit/s","queue":{PIE}}}"#),
    ] {
        let queue = config(&written).build(&link(Capacity::Unlimited)).into_timed();
        let mut slow = Slow { queue, rng: Stream::new(1, "slow") };
        slow.arrive(0);
        slow.arrive(1);
        // The last look was at 90 ms. By the rate, it would have been a delay of 2 ms.
        assert_eq!(slow.leave(100), 90.0, "{written}");
        // At 105 ms.
        assert_eq!(slow.leave(106), 104.0, "{written}");
        slow.arrive(200);
        assert_eq!(slow.delay(), 0.0, "{written}");
    }
}

/// A packet that waits for a day under a law of the shortest period takes no day.
#[test]
fn a_link_that_stands_still_for_long_is_soon_over() {
    let written = r#"{"name":"pie","period":"10 us","alpha":1e-9,"beta":1e-9}"#;
    let queue = config(written).build(&link(Capacity::Unlimited)).into_timed();
    let mut slow = Slow { queue, rng: Stream::new(1, "slow") };
    slow.arrive(0);
    let day = 86_400_000;
    assert_eq!(slow.leave(day), day as f64);
}
