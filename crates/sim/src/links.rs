//! The links of a network at work, in the order of their wires' leaves, so that an event's leaf tells its link without
//! a look into a table: at a thousand flows that look missed the nearest cache more often than not. What one link does
//! lives in the crate `link`.

use tailback_core::LinkId;
use tailback_core::fetch::fetch_at;
use tailback_link::{Entrance, Link, Slots};

/// Links and flows are laid out by so many before somebody is asked whether they are still wanted.
pub(crate) const SOME: usize = 1024;

/// Where a link stands here; outside, links go by their [`LinkId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) u32);

/// All links.
#[derive(Debug)]
pub(crate) struct Links {
    by_place: Vec<Link>,
    /// What is on the wires of those without a bound.
    pub(crate) slots: Slots,
    /// The leaf of the first one's wire.
    first_leaf: u32,
    /// Identities, by place.
    ids: Vec<LinkId>,
    /// Places, by identity.
    places: Vec<Place>,
    /// How packets enter, by identity: whoever lays routes asks for every link, and finds it without a look at the link.
    entrances: Vec<Entrance>,
}

impl Links {
    /// Puts links, given in the order of their identities, into the order of `ids`, which names each once; none where
    /// `go_on` says so meanwhile.
    pub(crate) fn new(
        mut links: Vec<Link>,
        ids: Vec<LinkId>,
        first_leaf: u32,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Self> {
        let mut places = vec![Place(0); ids.len()];
        for (place, id) in ids.iter().enumerate() {
            places[id.index()] = Place(place as u32);
        }
        let entrances = links.iter().map(Link::entrance).collect();
        // Swapped where they are: a second list of them would be the most memory that a large network ever takes.
        let mut left = places.clone();
        for index in 0..left.len() {
            if index.is_multiple_of(SOME) && !go_on() {
                return None;
            }
            while left[index].0 as usize != index {
                let place = left[index].0 as usize;
                links.swap(index, place);
                left.swap(index, place);
            }
        }
        for (place, link) in (0..).zip(&mut links) {
            link.number_wire(place);
        }
        let slots = Slots::new(links.len());
        Some(Self { by_place: links, slots, first_leaf, ids, places, entrances })
    }

    /// How many there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.by_place.len()
    }

    /// The link at a place.
    #[inline(always)]
    pub(crate) fn at(&mut self, place: Place) -> &mut Link {
        &mut self.by_place[place.0 as usize]
    }

    /// The link at a place, and the slots in which its packets lie if it has no bound.
    #[inline(always)]
    pub(crate) fn with_slots(&mut self, place: Place) -> (&mut Link, &mut Slots) {
        (&mut self.by_place[place.0 as usize], &mut self.slots)
    }

    /// The leaf of its wire.
    #[inline(always)]
    pub(crate) fn leaf(&self, place: Place) -> u32 {
        self.first_leaf + place.0
    }

    /// The same to look at.
    #[inline(always)]
    pub(crate) fn look(&self, place: Place) -> &Link {
        &self.by_place[place.0 as usize]
    }

    /// Fetches what a packet touches of a link without a bound.
    #[inline(always)]
    pub(crate) fn fetch(&self, place: Place) {
        fetch_at::<1, _>(&self.by_place, place.0 as usize);
    }

    /// Fetches what says where the next packet off a link's wire is and what it will touch, and the link.
    #[inline(always)]
    pub(crate) fn fetch_wire(&self, place: Place) {
        self.slots.fetch_entry(place.0);
        self.fetch(place);
    }

    /// Fetches the packet that is last on a link's wire.
    #[inline(always)]
    pub(crate) fn fetch_last(&self, place: Place) {
        if let Some(link) = self.by_place.get(place.0 as usize) {
            link.fetch_last(&self.slots);
        }
    }

    /// The link of an identity.
    pub(crate) fn of(&mut self, id: LinkId) -> &mut Link {
        self.at(self.place(id))
    }

    /// What the link at a place is called outside.
    #[inline(always)]
    pub(crate) fn id(&self, place: Place) -> LinkId {
        self.ids[place.0 as usize]
    }

    /// How packets enter a link.
    pub(crate) fn entrance(&self, id: LinkId) -> Entrance {
        self.entrances[id.index()]
    }

    /// Where a link stands.
    pub(crate) fn place(&self, id: LinkId) -> Place {
        self.places[id.index()]
    }
}
