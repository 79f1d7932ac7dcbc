//! Static shortest-path routing: by delay, then by hops, then by the order of links, so that it never depends on chance.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tailback_core::Span;

/// So many nodes, in all trees together, are remembered: with a tree for each of ten thousand routers they would fill memory.
const MOST: usize = 1 << 22;

/// Finds shortest routes, and remembers the trees that it has computed.
pub(crate) struct Router {
    outgoing: Outgoing,
    /// Per node that was a source, each node's last link and the node before it.
    trees: BTreeMap<usize, Tree>,
}

/// Per node, the link over which a tree reaches it and the node before; [`NOWHERE`] where it does not.
type Tree = Vec<(u32, u32)>;

const NOWHERE: (u32, u32) = (u32::MAX, u32::MAX);

impl Router {
    /// A router over links given as (from, to, delay), numbered in order.
    pub(crate) fn new(nodes: usize, links: impl Iterator<Item = (usize, usize, Span)> + Clone) -> Self {
        Self { outgoing: Outgoing::new(nodes, links), trees: BTreeMap::new() }
    }

    /// The links of the shortest route, if there is any.
    pub(crate) fn path(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        // Hosts hang on one link each: starting at their router lets thousands of them share one tree.
        let (first, root) = match *self.outgoing.of(from) {
            [(link, next, _)] if from != to => (Some(link), next),
            _ => (None, from),
        };
        let outgoing = &self.outgoing;
        if self.trees.len() * outgoing.nodes() > MOST && !self.trees.contains_key(&root) {
            self.trees.clear();
        }
        let tree = self.trees.entry(root).or_insert_with(|| shortest(outgoing, root));
        let (mut at, mut hops) = (to, 0);
        while at != root {
            if tree[at] == NOWHERE {
                return None;
            }
            at = tree[at].1 as usize;
            hops += 1;
        }
        let mut route = Vec::with_capacity(usize::from(first.is_some()) + hops);
        route.extend(first);
        route.resize(route.len() + hops, 0);
        at = to;
        for place in route.iter_mut().rev().take(hops) {
            let (link, before) = tree[at];
            (*place, at) = (link as usize, before as usize);
        }
        Some(route)
    }
}

/// The links that leave each node, one node's behind another's: most of a million nodes have one.
struct Outgoing {
    /// Number, far end, delay.
    links: Vec<(usize, usize, Span)>,
    /// Per node, where its links begin; where the last one's end.
    starts: Vec<usize>,
}

impl Outgoing {
    fn new(nodes: usize, links: impl Iterator<Item = (usize, usize, Span)> + Clone) -> Self {
        let mut starts = vec![0; nodes + 1];
        links.clone().for_each(|(from, ..)| starts[from + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut sorted = vec![(0, 0, Span::ZERO); starts[nodes]];
        for (number, (from, to, delay)) in links.enumerate() {
            sorted[next[from]] = (number, to, delay);
            next[from] += 1;
        }
        Self { links: sorted, starts }
    }

    fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Those of a node.
    fn of(&self, node: usize) -> &[(usize, usize, Span)] {
        &self.links[self.starts[node]..self.starts[node + 1]]
    }
}

/// Dijkstra's algorithm.
fn shortest(outgoing: &Outgoing, root: usize) -> Tree {
    let mut tree: Tree = vec![NOWHERE; outgoing.nodes()];
    let mut best = vec![(Span::MAX, usize::MAX); outgoing.nodes()];
    let mut queue = BinaryHeap::from([Reverse((Span::ZERO, 0, root))]);
    best[root] = (Span::ZERO, 0);
    while let Some(Reverse((distance, hops, node))) = queue.pop() {
        if (distance, hops) > best[node] {
            continue;
        }
        for &(link, next, delay) in outgoing.of(node) {
            let candidate = (distance + delay, hops + 1);
            // Strictly better only: among equals the route found first stays, and that order is fixed.
            if candidate < best[next] {
                best[next] = candidate;
                tree[next] = (link as u32, node as u32);
                // From a host that leads back alone, nothing is reached that is not reached sooner.
                let is_host = matches!(outgoing.of(next), [] | [_])
                    && outgoing.of(next).iter().all(|far| far.1 == node);
                if !is_host {
                    queue.push(Reverse((candidate.0, candidate.1, next)));
                }
            }
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(links: &[(usize, usize, u64)]) -> Router {
        let nodes = links.iter().map(|link| link.0.max(link.1) + 1).max().unwrap_or(0);
        Router::new(nodes, links.iter().map(|&(from, to, millis)| (from, to, Span::from_millis(millis))))
    }

    #[test]
    fn prefers_delay_then_hops_then_order() {
        // 0 → 1 → 3 takes 4 ms as 0 → 3 does; 0 → 2 → 3 takes 3 ms.
        let mut by_delay = router(&[(0, 1, 2), (1, 3, 2), (0, 3, 4), (0, 2, 1), (2, 3, 2)]);
        assert_eq!(by_delay.path(0, 3), Some(vec![3, 4]));
        let mut by_hops = router(&[(0, 1, 2), (1, 3, 2), (0, 3, 4)]);
        assert_eq!(by_hops.path(0, 3), Some(vec![2]));
        let mut by_order = router(&[(0, 1, 1), (0, 2, 1), (2, 3, 1), (1, 3, 1)]);
        assert_eq!(by_order.path(0, 3), Some(vec![0, 3]));
    }

    #[test]
    fn a_way_leads_over_nodes_with_one_link_that_does_not_lead_back() {
        // 1 leads to 2 alone, which it is not reached from; 3 is a host of 2.
        let mut ring = router(&[(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 2, 1), (2, 0, 5), (0, 3, 9)]);
        assert_eq!(ring.path(0, 3), Some(vec![0, 1, 2]));
        assert_eq!(ring.path(3, 1), Some(vec![3, 4, 0]));
        assert_eq!(ring.path(2, 2), Some(vec![]));
    }

    #[test]
    fn knows_where_no_route_leads() {
        let mut one_way = router(&[(0, 1, 1), (1, 2, 1)]);
        assert_eq!(one_way.path(0, 2), Some(vec![0, 1]));
        assert_eq!(one_way.path(2, 0), None);
    }
}
