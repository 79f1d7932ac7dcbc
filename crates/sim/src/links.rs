//! The links of a network at work, in the order of their wires' leaves, so that an event's leaf tells its link without
//! a look into a table: at a thousand flows that look missed the nearest cache more often than not. What one link does
//! lives in the crate `link`.

use tailback_core::LinkId;
use tailback_core::fetch::fetch_at;
use tailback_link::{Entrance, Link, LinkDriver, LinkTimers, Slots, UnlaidLink};

/// Links and flows are laid out by so many before somebody is asked whether they are still wanted.
pub(crate) const SOME: usize = 1024;

/// Where a link stands here; outside, links go by their [`LinkId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) u32);

/// What of a link decides how routes are laid over it. Whoever lays them asks for all links in no order: two bytes of each are at
/// hand where its own lines of memory are not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About(u16);

/// Nothing is checked where packets enter.
pub(crate) const OPEN: u16 = 1;
/// It takes more to say what becomes of them there.
pub(crate) const AT_LENGTH: u16 = 1 << 1;
/// [`Link::may_feed`] and the like.
pub(crate) const MAY_FEED: u16 = 1 << 2;
pub(crate) const ON_ARRIVALS: u16 = 1 << 3;
pub(crate) const TAKES_TIME: u16 = 1 << 4;
pub(crate) const TAKES_TIME_FOR_BYTES: u16 = 1 << 5;
pub(crate) const ROUGH: u16 = 1 << 6;
/// What routes make of it.
pub(crate) const FEEDS: u16 = 1 << 7;
pub(crate) const FED: u16 = 1 << 8;
pub(crate) const HANDS_OVER: u16 = 1 << 9;
pub(crate) const PUTS_OFF: u16 = 1 << 10;

impl About {
    fn of(link: &Link) -> Self {
        let entrance = link.entrance();
        let all = [
            (entrance == Entrance::Open, OPEN),
            (entrance == Entrance::AtLength, AT_LENGTH),
            (link.may_feed(), MAY_FEED),
            (link.acts_on_arrivals(), ON_ARRIVALS),
            (link.takes_time(), TAKES_TIME),
            (link.takes_time_for_bytes(), TAKES_TIME_FOR_BYTES),
            (link.is_rough(), ROUGH),
        ];
        Self(all.into_iter().fold(0, |about, (is, what)| about | if is { what } else { 0 }))
    }

    /// Whether all of this is so.
    #[inline(always)]
    pub(crate) fn is(self, what: u16) -> bool {
        self.0 & what == what
    }

    /// Whether some of this is so.
    #[inline(always)]
    pub(crate) fn is_any(self, what: u16) -> bool {
        self.0 & what != 0
    }
}

/// All links.
#[derive(Debug)]
pub(crate) struct Links {
    by_place: Vec<Link>,
    /// By place.
    about: Vec<About>,
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
    /// Lays links, given in the order of their identities, in that of their wires, the first of which has this leaf; none where
    /// `go_on` says so meanwhile.
    pub(crate) fn new(
        mut links: Vec<UnlaidLink>,
        first_leaf: u32,
        wires: impl Iterator<Item = (LinkId, LinkTimers)>,
        driver: &mut impl LinkDriver,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Self> {
        let count = links.len();
        let mut laid = Self {
            by_place: Vec::with_capacity(count),
            about: Vec::with_capacity(count),
            slots: Slots::new(count),
            first_leaf,
            ids: Vec::with_capacity(count),
            places: vec![Place(0); count],
            entrances: vec![Entrance::Open; count],
        };
        for (place, (id, timers)) in (0..).zip(wires) {
            if (place as usize).is_multiple_of(SOME) && !go_on() {
                return None;
            }
            let mut link = links[id.index()].lay();
            link.number_wire(place);
            link.settle(timers, driver);
            laid.places[id.index()] = Place(place);
            laid.entrances[id.index()] = link.entrance();
            laid.ids.push(id);
            laid.about.push(About::of(&link));
            laid.by_place.push(link);
        }
        Some(laid)
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

    /// What of the link at a place decides how routes are laid over it.
    #[inline(always)]
    pub(crate) fn about(&self, place: Place) -> About {
        self.about[place.0 as usize]
    }

    /// From now on a link feeds others: [`Link::begin_to_feed`]. Whether it is found out late what has left its queue.
    pub(crate) fn begin_to_feed(&mut self, place: Place) -> bool {
        let link = &mut self.by_place[place.0 as usize];
        let about = &mut self.about[place.0 as usize].0;
        link.begin_to_feed();
        *about |= FEEDS;
        let lags = link.may_lag();
        if lags {
            link.begin_to_lag();
            *about |= if link.puts_off() { PUTS_OFF } else { 0 };
        }
        lags
    }

    /// From now on a link is fed: [`Link::begin_to_be_fed`].
    pub(crate) fn begin_to_be_fed(&mut self, place: Place) {
        self.by_place[place.0 as usize].begin_to_be_fed();
        self.about[place.0 as usize].0 |= FED;
    }

    /// From now on a link that is fed hands over, or no longer: [`Link::set_to_hand_over`].
    pub(crate) fn set_to_hand_over(&mut self, place: Place, hands_over: bool) {
        self.by_place[place.0 as usize].set_to_hand_over(hands_over);
        let about = &mut self.about[place.0 as usize].0;
        *about = if hands_over { *about | HANDS_OVER } else { *about & !HANDS_OVER };
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
