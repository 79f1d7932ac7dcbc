//! What a packet takes on the line behind CAKE: overhead per packet, smallest frame, cells (Piece of CAKE, 2018;
//! tc-cake, "overhead compensation"). How fast the line is stands elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::Bytes;

/// How the line carries packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CakeFraming")]
pub enum Framing {
    /// As they are.
    #[default]
    None,
    /// In ATM cells of 53 bytes, each with 48 of the packet, the last one filled up (ADSL).
    Atm,
    /// In PTM blocks: one byte more for each 64, or part of 64 (VDSL2).
    Ptm,
}

/// What each packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) framing: Framing,
    pub(super) overhead: Bytes,
    /// The smallest frame, overhead included (`mpu`).
    pub(super) least: Bytes,
}

impl Frame {
    /// The bytes on the line for a packet of `size`.
    pub(super) fn length(&self, size: Bytes) -> u64 {
        let length = (size + self.overhead).max(self.least).get();
        match self.framing {
            Framing::None => length,
            Framing::Atm => length.div_ceil(48) * 53,
            Framing::Ptm => length + length.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand from the definitions of the two framings.
    #[test]
    fn lengths_on_the_line() {
        let length = |framing, overhead, least, size| {
            Frame { framing, overhead: Bytes::new(overhead), least: Bytes::new(least) }
                .length(Bytes::new(size))
        };
        assert_eq!(length(Framing::None, 0, 0, 1500), 1500);
        assert_eq!(length(Framing::None, 22, 64, 1500), 1522);
        assert_eq!(length(Framing::None, 22, 64, 40), 64);
        assert_eq!(length(Framing::None, 22, 64, 43), 65);
        // 1540 bytes are 32 cells and 4 bytes in a 33rd.
        assert_eq!(length(Framing::Atm, 40, 0, 1500), 33 * 53);
        assert_eq!(length(Framing::Atm, 40, 0, 1496), 32 * 53);
        // An acknowledgement of 40 bytes over PPPoE takes two cells: 2.65 times its size.
        assert_eq!(length(Framing::Atm, 40, 0, 40), 106);
        assert_eq!(length(Framing::Ptm, 30, 0, 1500), 1530 + 24);
        assert_eq!(length(Framing::Ptm, 0, 64, 40), 65);
        assert_eq!(length(Framing::Ptm, 0, 65, 40), 67);
    }
}
