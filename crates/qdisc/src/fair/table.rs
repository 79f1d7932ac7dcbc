//! Numbered places in pages, of which only those with places in use take memory. What lies in a place is not known
//! here.
//!
//! Flows are numbered from zero in practice, and those at work together have numbers near each other. So a flow's
//! number is its place: there is no table between the two, whose line of memory would have to be fetched first. And
//! one bit tells whether a place is in use, so that with many flows this is known long before the place itself has come
//! from memory.

use std::iter::successors;

/// So many places are made and given back together: as many as a word has bits.
const PAGE: usize = u64::BITS as usize;
/// Pages kept for the next use: of a few flows that come and go, none should cost a page each time.
const SPARE: usize = 16;

type Page<T> = Box<[T; PAGE]>;

/// Places for values `T`, each of which is the default while its place is not in use.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// With `used` a quarter of a byte for each number up to the greatest that there was, and the pages.
    pages: Vec<Option<Page<T>>>,
    /// Which places of each page are in use.
    used: Vec<u64>,
    spare: Vec<Page<T>>,
    open: usize,
}

impl<T: Default> Table<T> {
    pub(super) const fn new() -> Self {
        Self { pages: Vec::new(), used: Vec::new(), spare: Vec::new(), open: 0 }
    }

    /// How many places are in use.
    pub(super) const fn open_places(&self) -> usize {
        self.open
    }

    /// Whether a place is in use.
    #[inline]
    pub(super) fn is_open(&self, place: u32) -> bool {
        self.used.get(place as usize / PAGE).is_some_and(|used| used >> (place as usize % PAGE) & 1 == 1)
    }

    /// What lies in a place; the default, or nothing, in one not in use.
    #[inline]
    pub(super) fn get(&self, place: u32) -> Option<&T> {
        let page = self.pages.get(place as usize / PAGE)?.as_ref()?;
        Some(&page[place as usize % PAGE])
    }

    /// The same, to change it.
    #[inline]
    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        let page = self.pages.get_mut(place as usize / PAGE)?.as_mut()?;
        Some(&mut page[place as usize % PAGE])
    }

    /// What lies in a place in use.
    #[inline]
    pub(super) fn at(&self, place: u32) -> &T {
        self.get(place).expect("a place in use")
    }

    /// The same, to change it.
    #[inline]
    pub(super) fn at_mut(&mut self, place: u32) -> &mut T {
        self.get_mut(place).expect("a place in use")
    }

    /// All places in use.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> {
        let in_use = (0..).step_by(PAGE).zip(&self.used).filter(|(_, used)| **used != 0);
        in_use.flat_map(|(first, used)| {
            // From bit to bit: few of a page's places are in use as a rule.
            let after = |used: u64| Some(used & (used - 1)).filter(|used| *used != 0);
            successors(Some(*used), move |used| after(*used)).map(move |used| first + used.trailing_zeros())
        })
    }

    /// Takes a place into use.
    pub(super) fn open(&mut self, place: u32) -> &mut T {
        let page = place as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
            self.used.resize(page + 1, 0);
        }
        self.used[page] |= 1 << (place as usize % PAGE);
        self.open += 1;
        let spare = &mut self.spare;
        let fresh = || spare.pop().unwrap_or_else(|| Box::new(std::array::from_fn(|_| T::default())));
        &mut self.pages[page].get_or_insert_with(fresh)[place as usize % PAGE]
    }

    /// Gives a place back.
    pub(super) fn close(&mut self, place: u32) {
        *self.at_mut(place) = T::default();
        self.open -= 1;
        let page = place as usize / PAGE;
        self.used[page] &= !(1 << (place as usize % PAGE));
        if self.used[page] == 0
            && let Some(empty) = self.pages[page].take()
            && self.spare.len() < SPARE
        {
            self.spare.push(empty);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_a_map_that_gives_its_pages_back(steps in prop::collection::vec((0_u32..3000, 1_u64..9), 1..400)) {
            let mut table = Table::<u64>::new();
            let mut plain = BTreeMap::new();
            for (place, value) in steps {
                if plain.remove(&place).is_some() {
                    table.close(place);
                } else {
                    *table.open(place) += value;
                    plain.insert(place, value);
                }
                prop_assert_eq!(table.open_places(), plain.len());
                prop_assert!(table.places().eq(plain.keys().copied()));
                for place in 0..3000 {
                    prop_assert_eq!(table.is_open(place), plain.contains_key(&place));
                    let found = table.get(place).copied().unwrap_or_default();
                    prop_assert_eq!(found, plain.get(&place).copied().unwrap_or_default());
                }
            }
            for place in plain.into_keys() {
                table.close(place);
            }
            prop_assert!(table.pages.iter().all(Option::is_none) && table.spare.len() <= SPARE);
        }
    }
}
