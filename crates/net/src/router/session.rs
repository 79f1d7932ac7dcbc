//! A router between two network namespaces, with programs at its ends: what a command behind an emulated link is made of. How a
//! link is described, and what is shown of it, is decided by whoever calls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tailback_core::Time;
use tailback_link::StandaloneLink;

use super::forwarder::{RouterRecorder, Rule};
use super::namespace::Namespace;
use super::outside::{Masquerade, let_forward};
use super::programs::{Program, Running, await_listener, status_of};
use super::router::Router;
use super::tun::Tun;

/// What is at the far end of the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FarEnd {
    /// A host of its own, which nothing else reaches.
    #[default]
    Host,
    /// The network of the calling thread, which the near end's packets enter by masquerade.
    Outside,
}

/// What runs where.
#[derive(Clone, Debug, Default)]
pub struct SessionConfig {
    /// What is at the far end.
    pub far: FarEnd,
    /// The longest packet.
    pub mtu: u16,
    /// What runs at the near end; the session ends with it.
    pub program: Program,
    /// What runs at the far end meanwhile.
    pub server: Option<Program>,
}

/// The two ends of the links, and their addresses.
#[derive(Debug)]
pub struct Ends {
    near: Namespace,
    far: Namespace,
    files: Vec<OwnedFd>,
    devices: [String; 2],
    subnet: Subnet,
    masquerade: Option<Masquerade>,
}

/// A session that has ended.
#[derive(Debug)]
pub struct Ended<R> {
    /// The status of the program, as shells tell it.
    pub status: i32,
    /// Whether the program was ended from without.
    pub is_stopped: bool,
    /// The router, for all that it has counted.
    pub router: Router<R>,
    /// Packets that the system dropped before the router could read them.
    pub unread: u64,
}

/// A network of two hosts, of those that are kept for measurements (RFC 2544 §C.2.2, RFC 5180 §8).
#[derive(Clone, Copy, Debug)]
struct Subnet(u16);

/// So many subnets are tried.
const SUBNETS: u16 = 1 << 14;

impl Subnet {
    fn four(self, host: u16) -> String {
        let [high, low] = (self.0 * 4 + host).to_be_bytes();
        format!("198.18.{high}.{low}")
    }

    fn six(self, host: u16) -> String {
        format!("2001:2:0:{:x}::{host}", self.0)
    }

    /// The first one that no route of the namespace knows.
    fn free(namespace: &Namespace) -> io::Result<Self> {
        let routes = namespace.ip_says("-4 route show table all")?;
        let is_free = |subnet: &Self| !routes.contains(&format!("{}/30", subnet.four(0)));
        (0..SUBNETS)
            .map(Self)
            .find(is_free)
            .ok_or_else(|| io::Error::other("all of 198.18.0.0/16 is in use here"))
    }
}

impl Ends {
    /// Makes both ends, with a device and addresses at each.
    ///
    /// # Errors
    /// Where the system does not let the process, with what it lacks.
    pub fn new(far_end: FarEnd, mtu: u16) -> io::Result<Self> {
        let near = Namespace::new()?;
        let far = if far_end == FarEnd::Host { Namespace::new()? } else { Namespace::current()? };
        let subnet = Subnet::free(&far)?;
        let near_tun = Tun::new(&near, "tailback0", mtu)?;
        let name = if far_end == FarEnd::Host { "tailback0" } else { "tailback%d" };
        let far_tun = Tun::new(&far, name, mtu)?;
        for (namespace, tun, host) in [(&near, &near_tun, 2), (&far, &far_tun, 1)] {
            let device = tun.name();
            namespace.ip(&[&format!("addr add {}/30 dev {device}", subnet.four(host))])?;
            // Where there is no version 6, version 4 is enough.
            let _ = namespace.ip(&[&format!("addr add {}/64 dev {device} nodad", subnet.six(host))]);
        }
        near.ip(&[&format!("route add default via {} dev {}", subnet.four(1), near_tun.name())])?;
        let_forward(&near)?;
        let masquerade = if far_end == FarEnd::Outside {
            Some(Masquerade::new(&far, &format!("{}/30", subnet.four(0)), far_tun.name())?)
        } else {
            None
        };
        let devices = [near_tun.name().to_owned(), far_tun.name().to_owned()];
        let files = vec![near_tun.into_file(), far_tun.into_file()];
        Ok(Self { near, far, files, devices, subnet, masquerade })
    }

    /// The near end's address of version 4.
    pub fn near_address(&self) -> String {
        self.subnet.four(2)
    }

    /// The far end's address of version 4.
    pub fn far_address(&self) -> String {
        self.subnet.four(1)
    }

    /// What programs at the near end may know: `TAILBACK_FAR`, the far end's address, and `TAILBACK_FAR_NETNS`, its
    /// namespace, where that is one of its own.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![("TAILBACK_FAR".to_owned(), self.far_address())];
        if self.masquerade.is_none() {
            variables.push(("TAILBACK_FAR_NETNS".to_owned(), self.far.path()));
        }
        variables
    }

    /// Packets that the system dropped before a router could read them.
    fn unread(&self) -> io::Result<u64> {
        let of = |namespace: &Namespace, device: &str| {
            let device = device.to_owned();
            namespace.run(move || unread_of(&device))
        };
        Ok(of(&self.near, &self.devices[0])? + of(&self.far, &self.devices[1])?)
    }

    /// Runs programs at the ends, with the router on the calling thread: from the near end over the links of `up`, back over
    /// those of `down`. It ends with the near end's program, or when something can be read from one of `stops`, or
    /// whoever could write there is gone.
    ///
    /// # Errors
    /// Programs that cannot be started, rules that do not fit, devices that fail.
    pub fn run<R: RouterRecorder>(
        mut self,
        config: &SessionConfig,
        links: Vec<StandaloneLink>,
        (up, down): (Vec<usize>, Vec<usize>),
        recorder: R,
        stops: &[BorrowedFd<'_>],
    ) -> io::Result<Ended<R>> {
        let mut server = None;
        if let Some(program) = &config.server {
            let mut started = Running::start(program, &self.far)?;
            await_listener(&self.far, &mut started)?;
            server = Some(started);
        }
        let rules = vec![
            Rule { from: 0, to: 1, route: up, ..Rule::default() },
            Rule { from: 1, to: 0, route: down, ..Rule::default() },
        ];
        let files = std::mem::take(&mut self.files);
        let mut router = Router::new(files, links, rules, usize::from(config.mtu), recorder)?;
        let mut program = config.program.clone();
        program.variables.extend(self.variables());
        let mut running = Running::start(&program, &self.near)?;
        let ended = running.as_file()?;
        let stops: Vec<BorrowedFd<'_>> = stops.iter().copied().chain([ended.as_fd()]).collect();
        let outcome = router.run(Time::NEVER, &stops);
        let unread = self.unread()?;
        let is_stopped = running.has_ended()?.is_none();
        let status = status_of(running.end()?);
        if let Some(server) = server {
            server.end()?;
        }
        outcome?;
        Ok(Ended { status, is_stopped, router, unread })
    }
}

/// What the system dropped of an interface's outgoing packets, as the calling thread's namespace tells.
pub(crate) fn unread_of(device: &str) -> u64 {
    /// Behind the colon there are eight figures of what came in, then those of what went out: bytes, packets, errors, drops.
    const DROPPED: usize = 8 + 3;
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = table.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'));
    line.and_then(|figures| figures.split_whitespace().nth(DROPPED)?.parse().ok()).unwrap_or(0)
}
