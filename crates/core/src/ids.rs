//! Small integer names of flows, links and nodes. They index the simulator's tables and mean nothing outside a run.

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
