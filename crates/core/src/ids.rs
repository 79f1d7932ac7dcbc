//! Small integer names of flows, links, nodes and annexes. They index tables and mean nothing outside a run.

use std::num::NonZeroU32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The table index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 elements"))
            }
        }
    };
}

id!(
    /// A flow: one sender, one receiver, one scheme.
    FlowId
);
id!(
    /// A directed link.
    LinkId
);
id!(
    /// A host or router.
    NodeId
);

/// A handle into [`Annexes`](crate::Annexes); most packets carry [`AnnexId::NONE`].
///
/// It is never zero, so that a packet or none takes no more room than a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnexId(NonZeroU32);

impl AnnexId {
    /// No annex.
    pub const NONE: Self = Self(NonZeroU32::MAX);

    /// The handle's number, and back.
    pub(crate) const fn number(self) -> u32 {
        self.0.get()
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        match NonZeroU32::new(number) {
            Some(number) => Self(number),
            None => Self::NONE,
        }
    }

    /// The bit that tells what most acknowledgements say, which is kept apart, from all else. [`AnnexId::NONE`] has it, too.
    const BRIEF: u32 = 1 << 31;

    /// Of the annex in this slot, or none where there are too many.
    #[inline]
    pub(crate) fn of_slot(slot: usize) -> Option<Self> {
        let number = u32::try_from(slot + 1).ok().filter(|number| *number < Self::BRIEF)?;
        NonZeroU32::new(number).map(Self)
    }

    /// The same of those that are kept apart.
    #[inline]
    pub(crate) fn of_brief(slot: usize) -> Option<Self> {
        let number = u32::try_from(slot + 1).ok().filter(|number| *number < Self::BRIEF - 1)?;
        NonZeroU32::new(number | Self::BRIEF).map(Self)
    }

    /// Whether it is one of those that are kept apart, or none.
    #[inline]
    pub(crate) const fn is_brief(self) -> bool {
        self.0.get() & Self::BRIEF != 0
    }

    /// Where the annex lies; beyond all that there are if there is none.
    #[inline]
    pub(crate) const fn slot(self) -> usize {
        ((self.0.get() & !Self::BRIEF) as usize).wrapping_sub(1)
    }

    /// Whether there is an annex.
    pub const fn is_some(self) -> bool {
        self.0.get() != u32::MAX
    }
}
