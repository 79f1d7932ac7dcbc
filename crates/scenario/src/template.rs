//! Topologies as scenarios write them: four templates and the free graph. Their expansion into nodes and directed
//! links lives in `topology`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Checker, Span};

use crate::flow::{NAME, is_name};
use crate::link::{AccessConfig, LinkConfig};
use crate::spread::Spread;

/// The network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "template", rename_all = "kebab-case")]
pub enum TopologyConfig {
    /// Hosts on both sides of one bottleneck link.
    Dumbbell(Dumbbell),
    /// A chain of bottleneck links with traffic that enters and leaves between them.
    ParkingLot(ParkingLot),
    /// Hosts around one hub, each on a link of its own.
    Star(Star),
    /// A home behind an access line, and servers at several distances.
    Home(Home),
    /// Any nodes and links.
    Graph(Graph),
}

/// Two routers, `r0` and `r1`, joined by the bottleneck link whose parameters stand here. Flow number k (counted over all
/// groups from 0) runs from its host `s<k>` behind `r0` to its host `d<k>` behind `r1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Dumbbell {
    /// The bottleneck.
    #[serde(flatten)]
    pub bottleneck: LinkConfig,
    /// The links between senders and `r0`, and between receivers and `r1` unless `receiver_access` says otherwise.
    pub access: AccessConfig,
    /// The links between `r1` and the receivers; as `access` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_access: Option<AccessConfig>,
}

/// Routers `r0` to `r<hops>` in a chain; every link between them has the parameters that stand here. Flow number k runs
/// from its host `s<k>` to its host `d<k>`, behind the routers that it names by `from` and `to`, or behind the first and
/// the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ParkingLot {
    /// How many links the chain has.
    #[schemars(range(min = 1, max = 1000))]
    pub hops: u32,
    /// Each link of the chain.
    #[serde(flatten)]
    pub link: LinkConfig,
    /// The links between senders and routers, and between receivers and routers unless `receiver_access` says otherwise.
    pub access: AccessConfig,
    /// The links between routers and receivers; as `access` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_access: Option<AccessConfig>,
}

impl Default for ParkingLot {
    fn default() -> Self {
        Self { hops: 3, link: LinkConfig::default(), access: AccessConfig::default(), receiver_access: None }
    }
}

/// Hosts `h0`, `h1`, … around the node `hub`. The parameters that stand here are those of the links from the hub to each
/// host, and of the reverse direction unless `reverse` says otherwise. By default all flows send to `h0`, from `h1`, `h2`,
/// … in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Star {
    /// How many hosts.
    #[schemars(range(min = 2, max = 100_000))]
    pub hosts: u32,
    /// Each link from the hub to a host.
    #[serde(flatten)]
    pub link: LinkConfig,
}

impl Default for Star {
    fn default() -> Self {
        Self { hosts: 5, link: LinkConfig::default() }
    }
}

/// The node `isp` and the router `home`, joined by an access line: the parameters that stand here are those of the download,
/// `reverse` those of the upload, whose rate is as a rule the lower. Servers stand behind `isp` at several distances, devices
/// behind `home`. Flow number k runs from its server `s<k>` to its device `d<k>`; one that says `from = "home"` and
/// `to = "isp"` sends the other way. Flows between named `devices` and servers share what they name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Home {
    /// The access line.
    #[serde(flatten)]
    pub line: LinkConfig,
    /// The links between `isp` and servers. Their default delays are 4, 14 and 44 ms one way, dealt out in turn.
    pub servers: AccessConfig,
    /// The links between the router `home` and devices. Their default delay is 1 ms.
    pub lan: AccessConfig,
    /// Names of devices that several flows share, as flows of one host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
}

impl Default for Home {
    fn default() -> Self {
        let millis = |delays: &[u64]| delays.iter().map(|delay| Span::from_millis(*delay)).collect();
        Self {
            line: LinkConfig::default(),
            servers: AccessConfig { delay: Spread::List(millis(&[4, 14, 44])), ..AccessConfig::default() },
            lan: AccessConfig { delay: Spread::Same(Span::from_millis(1)), ..AccessConfig::default() },
            devices: Vec::new(),
        }
    }
}

impl Home {
    /// The node at the provider's end of the access line.
    pub const ISP: &str = "isp";
    /// The router at its other end.
    pub const ROUTER: &str = "home";

    fn check(&self, checker: &mut Checker) {
        self.line.check(checker);
        checker.within("servers", |checker| self.servers.check(checker));
        checker.within("lan", |checker| self.lan.check(checker));
        let mut seen = BTreeSet::from([Self::ISP, Self::ROUTER]);
        for (index, device) in self.devices.iter().enumerate() {
            let field = format!("devices[{index}]");
            checker.require(is_name(device), &field, format_args!("{device:?}"), NAME);
            let own = device.strip_prefix(['s', 'd']).is_some_and(|number| number.parse::<u32>().is_ok());
            let fresh = seen.insert(device) && !own;
            let allowed = "a name of its own, not `isp`, `home`, or that of a flow's host, as `s0` and `d0`";
            checker.require(fresh, &field, format_args!("{device:?}"), allowed);
        }
    }
}

/// Any nodes and links. Nodes need no declaration: they are the ends of the links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Graph {
    /// The links.
    pub links: Vec<GraphLink>,
}

/// One link of a graph, in both directions unless it is one-way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphLink {
    /// The node at its near end.
    pub from: String,
    /// The node at its far end.
    pub to: String,
    /// Whether there is no reverse direction.
    #[serde(default)]
    pub one_way: bool,
    /// The forward direction, and by default the reverse direction.
    #[serde(flatten)]
    pub link: LinkConfig,
}

impl TopologyConfig {
    /// Complains about every value that makes no network.
    pub fn check(&self, checker: &mut Checker) {
        match self {
            Self::Dumbbell(dumbbell) => {
                dumbbell.bottleneck.check(checker);
                check_access(&dumbbell.access, dumbbell.receiver_access.as_ref(), checker);
            }
            Self::ParkingLot(lot) => {
                let ok = (1..=1000).contains(&lot.hops);
                checker.require(ok, "hops", lot.hops, "1 to 1000 links");
                lot.link.check(checker);
                check_access(&lot.access, lot.receiver_access.as_ref(), checker);
            }
            Self::Star(star) => {
                let ok = (2..=100_000).contains(&star.hosts);
                checker.require(ok, "hosts", star.hosts, "2 to 100000 hosts");
                star.link.check(checker);
            }
            Self::Home(home) => home.check(checker),
            Self::Graph(graph) => graph.check(checker),
        }
    }
}

fn check_access(near: &AccessConfig, far: Option<&AccessConfig>, checker: &mut Checker) {
    checker.within("access", |checker| near.check(checker));
    if let Some(far) = far {
        checker.within("receiver_access", |checker| far.check(checker));
    }
}

impl Graph {
    fn check(&self, checker: &mut Checker) {
        checker.require(!self.links.is_empty(), "links", "[]", "at least one link");
        let mut seen = BTreeSet::new();
        for (index, link) in self.links.iter().enumerate() {
            checker.within(format!("links.[{index}]"), |checker| {
                for (field, name) in [("from", &link.from), ("to", &link.to)] {
                    checker.require(is_name(name), field, format_args!("{name:?}"), NAME);
                }
                let (from, to) = (&link.from, &link.to);
                checker.require(from != to, "to", format_args!("{to:?}"), "a node other than `from`");
                let mut fresh = from == to || seen.insert((from.clone(), to.clone()));
                fresh &= from == to || link.one_way || seen.insert((to.clone(), from.clone()));
                let value = format_args!("a second link between {from:?} and {to:?}").to_string();
                checker.require(fresh, "", value, "at most one link per direction between two nodes");
                let reverse = link.one_way && link.link.reverse.is_some();
                checker.require(!reverse, "reverse", "given", "no `reverse` on a link that is one-way");
                link.link.check(checker);
            });
        }
    }
}
