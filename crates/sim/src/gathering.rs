//! Links that several others lead into and whose queues nobody need hear of at once: what arrives there needs no event, but is taken
//! in late, much at a time. Which links these are is found here once all routes are laid, and so is kept what is on its way to them;
//! when it is taken in, in `late.rs`.
//!
//! As a packet enters an access link, it is known when it will reach the queue behind that. What becomes of it there changes
//! nothing before the delay behind that queue is over. So it takes no entry in the event queue, but is listed, and all that has
//! arrived is taken in together: in order, each as of its own time, before anything could follow from the first of it, and before
//! anybody looks. It is put in order only then: numbers are sorted in less time than as many places are found for them one by one.
//! Packets lie where they always do, so that counters need not know of it. Nothing that is simulated changes.

use tailback_core::{Bytes, Span, Time};

use crate::event_queue::{EventQueue, Keys};
use crate::links::{FEEDS, Links, OPEN, Place, ROUGH, TAKES_TIME};
use crate::neighbours::Neighbours;
use crate::routes::Routes;

/// So many links must lead into one: with fewer the event queue is as quick.
pub(crate) const FEWEST_WIRES: usize = 16;
/// All lists are looked at whenever one is taken in.
const MOST_LISTS: usize = 16;
/// So much must be able to leave within the delay: with less that is taken in together it costs more than is gained.
const FEWEST: Bytes = Bytes::new(2 * 1500);
/// No more than this must be able to leave within that delay and the one before, or within both no more than that for each wire: more
/// of few wires is found sooner by the event queue than it is sorted.
const MOST: Bytes = Bytes::new(512 * 1024);
const MOST_EACH: Bytes = Bytes::new(8 * 1024);
/// What is listed is looked through whenever some of it is taken in, so the delay before must be no longer than so many times that
/// behind.
const MOST_TIMES: u64 = 8;

/// Into no link of which that matters.
const NONE: u32 = u32::MAX;

/// Of each link, by place, that into which all goes that enters it, where that comes from endpoints and may be listed; otherwise
/// none.
fn leads(links: &Links, neighbours: &Neighbours) -> Vec<u32> {
    let of = |place: Place| {
        let about = links.about(place);
        // What passes in no time would be taken in behind what came by a later event of the same instant.
        let may_be_listed = about.is(OPEN | TAKES_TIME) && !about.is_any(FEEDS | ROUGH);
        neighbours.leads(place).filter(|_| may_be_listed).map_or(NONE, |Place(to)| to)
    };
    (0..links.len() as u32).map(|place| of(Place(place))).collect()
}

/// The links, at least so many, that lead into one, by that one's place; none where something enters it otherwise.
fn wires(routes: &Routes, leads: &[u32], fewest: usize) -> Vec<(Place, Vec<Place>)> {
    let mut counted = vec![0_u32; leads.len()];
    for &to in leads.iter().filter(|&&to| to != NONE) {
        counted[to as usize] += 1;
    }
    // What stands in the place of a link's count from here on: where it stands in the list, if it does.
    let mut found: Vec<(Place, Vec<Place>)> = Vec::new();
    for (place, counted) in (0..).map(Place).zip(&mut counted) {
        let is_found = *counted as usize >= fewest;
        let wires = *counted as usize;
        *counted = if is_found { found.len() as u32 } else { NONE };
        if is_found {
            found.push((place, Vec::with_capacity(wires)));
        }
    }
    if found.is_empty() {
        return found;
    }
    for (wire, &to) in (0..).map(Place).zip(leads) {
        if let Some(&at) = counted.get(to as usize)
            && let Some((_, wires)) = found.get_mut(at as usize)
        {
            wires.push(wire);
        }
    }
    let mut from = None;
    for step in routes.steps() {
        let link = step.link();
        if let Some(Place(link)) = link
            && let Some((_, wires)) = found.get_mut(counted[link as usize] as usize)
            && from.is_none_or(|Place(from)| leads[from as usize] != link)
        {
            wires.clear();
        }
        from = link;
    }
    found
}

/// How late it may be found out what has arrived at a link by `wires`, at least so many, if it pays that it is.
fn lag(links: &Links, place: Place, wires: &[Place], fewest: usize) -> Option<Span> {
    let link = links.look(place);
    let lag = if link.puts_off() { link.lag() } else { link.delay() };
    let pays = wires.len() >= fewest
        && (link.puts_off() || link.acts_on_arrivals())
        && link.rate().bytes_in(lag) >= FEWEST;
    if !pays {
        return None;
    }
    let before = wires.iter().map(|&wire| links.look(wire).delay()).max().unwrap_or(Span::ZERO);
    let most = MOST.max(MOST_EACH * wires.len() as u64);
    let is_bounded = link.rate().bytes_in(lag + before) <= most && before <= lag * MOST_TIMES;
    is_bounded.then_some(lag)
}

/// No packet is listed.
const EMPTY: u64 = u64::MAX;

/// What is on its way to one link.
#[derive(Debug)]
pub(crate) struct Listed {
    keys: Keys,
    /// That link.
    into: Place,
    /// So late it may be found out what has arrived.
    lag: Span,
    /// When each packet arrives, and by which wire: first what is being taken in, in order, then the others, in none.
    packets: Vec<u64>,
    /// So many of these are being taken in, and so many of them have been.
    due: usize,
    taken: usize,
    /// The first of the others.
    first: u64,
}

impl Listed {
    fn new(keys: Keys, into: Place, lag: Span) -> Self {
        Self { keys, into, lag, packets: Vec::new(), due: 0, taken: 0, first: EMPTY }
    }

    /// When what is listed must be taken in at the latest.
    fn alarm(&self) -> Time {
        if self.first == EMPTY { Time::NEVER } else { self.keys.time(self.first).after(self.lag) }
    }

    /// Lists a packet.
    #[inline(always)]
    fn add(&mut self, key: u64) {
        self.packets.push(key);
        self.first = self.first.min(key);
    }

    /// What arrives before `until`, or then by a wire in front of `before`, is to be taken in.
    pub(crate) fn begin(&mut self, until: Time, before: Place) {
        let limit = self.keys.of(before, until);
        if self.first >= limit {
            // None is: they need not be looked through.
            return;
        }
        let (mut due, mut first) = (0, EMPTY);
        // Without a branch, as none could be foreseen.
        for at in 0..self.packets.len() {
            let key = self.packets[at];
            let is_due = key < limit;
            self.packets.swap(at, due);
            due += usize::from(is_due);
            first = first.min(if is_due { EMPTY } else { key });
        }
        self.packets[..due].sort_unstable();
        (self.due, self.first) = (due, first);
    }

    /// The next packet that is to be taken in: by which wire it comes, and when.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<(Place, Time)> {
        if self.taken == self.due {
            self.packets.drain(..std::mem::take(&mut self.due));
            self.taken = 0;
            return None;
        }
        let key = self.packets[self.taken];
        self.taken += 1;
        Some((self.keys.wire(key), self.keys.time(key)))
    }

    /// The wire by which one comes that is so many places behind that.
    #[inline(always)]
    pub(crate) fn soon(&self, places: usize) -> Option<Place> {
        self.packets.get(self.taken + places).map(|&key| self.keys.wire(key))
    }
}

/// All lists.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    lists: Vec<Listed>,
}

impl Gathering {
    /// Finds what may be gathered, where at least so many wires lead, and lays routes anew.
    pub(crate) fn begin(
        routes: &mut Routes,
        links: &mut Links,
        neighbours: &Neighbours,
        events: &EventQueue,
        fewest: usize,
    ) -> Self {
        let mut gathering = Self::default();
        let Some(keys) = events.keys() else { return gathering };
        let leads = leads(links, neighbours);
        let mut is_listed = Vec::new();
        for (place, wires) in wires(routes, &leads, fewest) {
            if gathering.lists.len() < MOST_LISTS
                && let Some(lag) = lag(links, place, &wires, fewest)
            {
                let list = gathering.lists.len() as u8;
                gathering.lists.push(Listed::new(keys, place, lag));
                is_listed.resize(links.len(), false);
                for wire in wires {
                    links.at(wire).keep_note(list);
                    is_listed[wire.0 as usize] = true;
                }
            }
        }
        if !gathering.lists.is_empty() {
            routes.gather(|Place(wire)| is_listed[wire as usize]);
        }
        gathering
    }

    /// From now on nothing is gathered: all that is listed, by which wire it comes and when, in order.
    pub(crate) fn end(&mut self, routes: &mut Routes) -> Vec<(Place, Time)> {
        let lists = std::mem::take(self).lists;
        if !lists.is_empty() {
            routes.gather_no_longer();
        }
        let of = |list: Listed| {
            list.packets.into_iter().map(move |key| (list.keys.wire(key), list.keys.time(key)))
        };
        let mut listed: Vec<_> = lists.into_iter().flat_map(of).collect();
        listed.sort_unstable_by_key(|&(_, arrives)| arrives);
        listed
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    /// When the next list must be taken in at the latest.
    pub(crate) fn alarm(&self) -> Time {
        self.lists.iter().map(Listed::alarm).min().unwrap_or(Time::NEVER)
    }

    /// A list that must be taken in by `now`, if there is one.
    pub(crate) fn due(&self, now: Time) -> Option<usize> {
        self.lists.iter().position(|list| list.alarm() <= now)
    }

    /// The list of what arrives at a link, if that is listed.
    pub(crate) fn list_into(&self, place: Place) -> Option<usize> {
        self.lists.iter().position(|list| list.into == place)
    }

    /// Lists a packet that comes by a wire, whose link notes in which list; when it must be taken in at the latest.
    #[inline(always)]
    pub(crate) fn add(&mut self, list: u8, wire: Place, arrives: Time) -> Time {
        let list = &mut self.lists[usize::from(list)];
        list.add(list.keys.of(wire, arrives));
        arrives.after(list.lag)
    }

    /// A list.
    #[inline(always)]
    pub(crate) fn list(&mut self, list: usize) -> &mut Listed {
        &mut self.lists[list]
    }
}
