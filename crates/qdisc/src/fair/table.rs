//! Places for values with numbers, of which only those in use take memory. What lies in a place is not known here.
//!
//! Flows are numbered from zero in practice, and those at work together have numbers near each other. So numbers that
//! follow each other have places that do, a page of them, and a small table tells where a number's page lies. Whoever
//! has a place needs no table. One bit tells whether a place is in use, so that with many flows this is known long
//! before the place itself has come from memory.

use std::iter::successors;

use tailback_core::fetch::fetch_at;

use super::looks::looked;

/// So many places are made and given back together: as many as a word of [`Table::used`] has bits.
const PAGE: usize = u16::BITS as usize;
/// No page has this number.
const NO_PAGE: u32 = u32::MAX;
/// A table of more places than this gives its memory back when none is in use.
const KEEP: usize = 1024;

/// Places for values `T`, each of which is the default while its place is not in use.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// Page by page.
    places: Vec<T>,
    /// Which places of each page are in use.
    used: Vec<u16>,
    /// Which page of numbers each page of places is for.
    numbers: Vec<u32>,
    /// The page of places for each page of numbers up to the greatest that there was: a quarter of a byte per number.
    pages: Vec<u32>,
    /// Pages of places for the next use, the last one first: its memory is at hand.
    free: Vec<u32>,
    open: usize,
}

impl<T: Default> Table<T> {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            used: Vec::new(),
            numbers: Vec::new(),
            pages: Vec::new(),
            free: Vec::new(),
            open: 0,
        }
    }

    /// How many places are in use.
    pub(super) const fn open_places(&self) -> usize {
        self.open
    }

    /// The place of a number, if it is in use.
    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<u32> {
        let page = *self.pages.get(number as usize / PAGE)?;
        let used = *self.used.get(page as usize)?;
        let within = number % PAGE as u32;
        (used >> within & 1 == 1).then_some(page * PAGE as u32 + within)
    }

    /// The number of a place in use.
    pub(super) fn number(&self, place: u32) -> u32 {
        self.numbers[place as usize / PAGE] * PAGE as u32 + place % PAGE as u32
    }

    /// What lies in a place, if there is one.
    #[inline]
    pub(super) fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)
    }

    /// Has what lies in a place fetched from memory, if there is one.
    #[inline]
    pub(super) fn fetch(&self, place: u32) {
        fetch_at::<1, _>(&self.places, place as usize);
    }

    /// What lies in a place in use.
    #[inline]
    pub(super) fn at(&self, place: u32) -> &T {
        &self.places[place as usize]
    }

    /// The same, to change it.
    #[inline]
    pub(super) fn at_mut(&mut self, place: u32) -> &mut T {
        &mut self.places[place as usize]
    }

    /// How much [`Table::places`] has to look at.
    pub(super) const fn span(&self) -> usize {
        self.pages.len() + self.open
    }

    /// All places in use, in the order of their numbers.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> {
        let pages = self.pages.iter().inspect(|_| looked()).filter(|page| **page != NO_PAGE);
        pages.flat_map(|page| {
            // From bit to bit: few of a page's places are in use as a rule.
            let after = |used: u16| Some(used & (used - 1)).filter(|used| *used != 0);
            let first = page * PAGE as u32;
            successors(Some(self.used[*page as usize]), move |used| after(*used))
                .map(move |used| first + used.trailing_zeros())
                .inspect(|_| looked())
        })
    }

    /// Takes a place for a number that has none into use.
    pub(super) fn open(&mut self, number: u32) -> u32 {
        let (page, within) = (number as usize / PAGE, number % PAGE as u32);
        if page >= self.pages.len() {
            self.pages.resize(page + 1, NO_PAGE);
        }
        if self.pages[page] == NO_PAGE {
            self.pages[page] = self.page_for(page as u32);
        }
        let page = self.pages[page];
        self.used[page as usize] |= 1 << within;
        self.open += 1;
        page * PAGE as u32 + within
    }

    /// A page of places, none of which is in use, for a page of numbers.
    fn page_for(&mut self, numbers: u32) -> u32 {
        if let Some(page) = self.free.pop() {
            self.numbers[page as usize] = numbers;
            return page;
        }
        self.places.extend(std::iter::repeat_with(T::default).take(PAGE));
        self.used.push(0);
        self.numbers.push(numbers);
        self.used.len() as u32 - 1
    }

    /// Gives a place back.
    pub(super) fn close(&mut self, place: u32) {
        *self.at_mut(place) = T::default();
        self.open -= 1;
        let page = place as usize / PAGE;
        self.used[page] &= !(1 << (place as usize % PAGE));
        if self.used[page] == 0 {
            self.give_back(page);
        }
    }

    fn give_back(&mut self, page: usize) {
        self.pages[self.numbers[page] as usize] = NO_PAGE;
        self.free.push(page as u32);
        if self.open == 0 && self.places.len() > KEEP {
            *self = Self::new();
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
        fn is_a_map_that_gives_its_memory_back(steps in prop::collection::vec((0_u32..3000, 1_u64..9), 1..400)) {
            let mut table = Table::<u64>::new();
            let mut plain = BTreeMap::new();
            let mut most = 0;
            for (number, value) in steps {
                if plain.remove(&number).is_some() {
                    table.close(table.find(number).unwrap());
                } else {
                    let place = table.open(number);
                    *table.at_mut(place) += value;
                    plain.insert(number, value);
                }
                most = most.max(plain.len());
                prop_assert_eq!(table.open_places(), plain.len());
                prop_assert!(table.places().map(|place| table.number(place)).eq(plain.keys().copied()));
                for number in plain.keys().copied().chain([number]) {
                    let found = table.find(number).map(|place| *table.at(place));
                    prop_assert_eq!(found, plain.get(&number).copied());
                }
                prop_assert!(table.places.len() <= most * PAGE, "a page for each place at most");
            }
            for number in 0..3000 {
                prop_assert_eq!(table.find(number).is_some(), plain.contains_key(&number));
            }
            for number in plain.into_keys() {
                table.close(table.find(number).unwrap());
            }
            prop_assert!(table.places.len() <= KEEP && table.places.iter().all(|value| *value == 0));
            prop_assert!(table.pages.iter().all(|page| *page == NO_PAGE));
        }
    }
}
