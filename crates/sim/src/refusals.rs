//! What cannot be run, and why: the checks of links, names and routes, on which the builder and the running simulator
//! both insist.

use tailback_core::{LinkId, Texts};
use tailback_link::LinkSpec;

use crate::routes::hash_of;

/// Why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Two links or two flows of one name would share random streams.
    #[error("the name {0:?} is used twice")]
    DuplicateName(String),
    /// A link at rate zero never delivers.
    #[error("link {0:?} has a rate of zero and no trace")]
    ZeroRate(String),
    /// A route without links, or over a link that does not exist.
    #[error("flow {flow:?}: the {direction} route {problem}")]
    BadRoute {
        /// The flow.
        flow: String,
        /// `"forward"` or `"reverse"`.
        direction: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A flow that comes while running enters a link by another way than all others.
    #[error(
        "flow {flow:?}: its route enters link {} by another way than all flows before it, which a network allows that was \
         built link by link", link.0
    )]
    EnteredElsewhere {
        /// The flow.
        flow: String,
        /// The link.
        link: LinkId,
    },
    /// Whoever wanted it no longer did.
    #[error("was stopped while it was built")]
    Stopped,
    /// A schedule out of order.
    #[error("link {0:?}: the schedule's changes are not in the order of time")]
    UnorderedSchedule(String),
}

pub(crate) fn check_link(link: &LinkSpec) -> Result<(), NetworkError> {
    if link.rate.bits_per_sec() == 0 && link.trace.is_none() {
        return Err(NetworkError::ZeroRate(link.name.clone()));
    }
    if !link.schedule.is_sorted_by_key(|change| change.at) {
        return Err(NetworkError::UnorderedSchedule(link.name.clone()));
    }
    Ok(())
}

/// Of names of which two are alike, the one that is complained of; in a sound network nobody asks.
#[cold]
pub(crate) fn check_unique(names: &Texts) -> Result<(), NetworkError> {
    // Millions of names are alike in their first letters: their hashes are told apart much sooner.
    let mut hashed: Vec<(u64, usize)> = names.iter().map(|name| hash_of(&name)).zip(0..).collect();
    hashed.sort_unstable();
    let alike = |pair: &&[(u64, usize)]| pair[0].0 == pair[1].0 && names[pair[0].1] == names[pair[1].1];
    match hashed.windows(2).find(alike) {
        Some(pair) => Err(NetworkError::DuplicateName(names[pair[0].1].to_owned())),
        None => Ok(()),
    }
}

pub(crate) fn check_routes(
    name: &str,
    forward: &[LinkId],
    reverse: &[LinkId],
    links: usize,
) -> Result<(), NetworkError> {
    for (direction, route) in [("forward", forward), ("reverse", reverse)] {
        let problem = if route.is_empty() {
            "has no links".to_owned()
        } else if let Some(link) = route.iter().find(|link| link.index() >= links) {
            format!("names link {} of {links}", link.0)
        } else {
            continue;
        };
        return Err(NetworkError::BadRoute { flow: name.to_owned(), direction, problem });
    }
    Ok(())
}
