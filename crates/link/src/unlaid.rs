//! A link that is made, but not yet laid among others: where a network puts it is known only when all of its links are. Most links of a
//! large network have a rate and a delay and nothing else, so that nothing else is kept of them until then.

use tailback_core::{BitRate, Span};

use crate::link::Link;
use crate::spec::LinkSpec;

/// A link that is not yet laid.
#[derive(Debug)]
pub struct UnlaidLink(Kind);

#[derive(Debug)]
enum Kind {
    Open(BitRate, Span),
    /// None once it is laid.
    Other(Option<Box<Link>>),
}

impl UnlaidLink {
    /// [`Link::new`], for later.
    #[inline]
    pub fn new(spec: LinkSpec, seed: u64) -> Self {
        Self(if spec.is_open() {
            Kind::Open(spec.rate, spec.delay)
        } else {
            Kind::Other(Some(Box::new(Link::new(spec, seed))))
        })
    }

    /// A link that has a rate and a delay, and nothing else.
    #[inline]
    pub fn open(rate: BitRate, delay: Span) -> Self {
        Self(Kind::Open(rate, delay))
    }

    /// The link, at rest, once.
    ///
    /// # Panics
    /// The second time, if there is more to the link than a rate and a delay.
    #[inline]
    pub fn lay(&mut self) -> Link {
        match &mut self.0 {
            Kind::Open(rate, delay) => Link::open(*rate, *delay),
            Kind::Other(link) => *link.take().expect("a link is laid once"),
        }
    }
}

const _: () = assert!(size_of::<UnlaidLink>() == 24, "a large network has millions of links");
