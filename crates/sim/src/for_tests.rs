//! What tests ask of a simulator, and nobody else does. They are in `tests/few_looks.rs` and `tests/full.rs`.

use tailback_core::LinkId;
use tailback_link::Link;

use crate::recorder::Recorder;
use crate::simulator::Simulator;

impl<R: Recorder> Simulator<R> {
    /// Whether all that is to come to links that are fed was put in order for a look at the present.
    pub fn has_put_in_order(&self) -> bool {
        self.paths.feeding.has_put_in_order(self.now())
    }

    /// A link, for tests of what becomes of packets for which there is no room in it.
    pub fn link_itself(&mut self, link: LinkId) -> &mut Link {
        self.paths.links.of(link)
    }
}
