//! Patience with parts whose timers have passed although they were just seen to: each costs the least step of time, and a
//! run would never end. What the timers are for is the parts' business.

use pyo3::prelude::*;
use tailback_core::Time;

use super::answers::wrong;
use super::bridge::Bridge;
use super::values::seconds;

/// So often in a row a timer may have passed. A few times it does where seconds were rounded to nanoseconds, and as often
/// as a policy has reports to send at one instant.
const OFTEN: u32 = 1000;

/// Counts how often in a row a timer had passed.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Whether it is at an end; the part is then told on, and silent from now on.
    ///
    /// `said` is what `method` answered after what was due at `now` had been done.
    pub(crate) fn is_lost(
        &mut self,
        bridge: &mut Bridge,
        method: &str,
        now: Time,
        said: Option<Time>,
    ) -> bool {
        let Some(time) = said.filter(|&time| time <= now) else {
            self.0 = 0;
            return false;
        };
        self.0 += 1;
        if self.0 <= OFTEN {
            return false;
        }
        let _: Option<()> = bridge.ask(|py, part| {
            let said = seconds(time).into_pyobject(py)?;
            let allowed = format!("seconds later than now, {}, or None: it never ends", seconds(now));
            Err(wrong(part, method, said.as_any(), &allowed))
        });
        true
    }
}
