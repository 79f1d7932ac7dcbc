//! Runs that are stopped as memory is used up: they go no further.

use crate::common::{link, unbounded};
use tailback_core::{FlowId, Time};
use tailback_sim::{MemoryLimit, NetworkBuilder};

use crate::feeding::stream;

#[test]
fn a_run_that_memory_has_stopped_goes_no_further() {
    let mut network = NetworkBuilder::new(7);
    let [there, back] = ["there", "back"].map(|name| network.link(link(name, 100, 5, unbounded())));
    network.flow(stream(FlowId(0), "sack", 1, &[there], &[back]));
    let mut sim = network.build(Time::from_secs_f64(100.0), ()).expect("a sound network");
    sim.run_until(Time::from_secs_f64(5.0));
    assert!(!sim.is_stopped());
    sim.limit_memory(MemoryLimit { most: 1, in_use: || 2 });
    sim.run_until(Time::from_secs_f64(10.0));
    assert!(sim.is_stopped());
    let (now, work) = (sim.now(), sim.work_done());
    assert!(now < Time::from_secs_f64(10.0), "{now:?}");
    for later in [20.0, 30.0] {
        sim.run_until(Time::from_secs_f64(later));
        assert_eq!((sim.now(), sim.work_done()), (now, work));
    }
}
