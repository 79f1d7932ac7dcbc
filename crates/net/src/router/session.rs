//! A router between two network namespaces, with programs at its ends: what a command behind an emulated link is made of. How a
//! link is described, and what is shown of it, is decided by whoever calls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tailback_core::Time;
use tailback_link::StandaloneLink;

use super::forwarder::{RouterRecorder, Rule};
use super::namespace::Namespace;
use super::outside::{Masquerade, let_forward};
use super::programs::{Program, Running, status_of};
use super::router::Router;
use super::server::{Server, ServerEnded};
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
    _claim: Claim,
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
    /// What became of the server, where it ended before the program did.
    pub server: Option<ServerEnded>,
}

/// Files by which a session is told to end: as soon as something can be read from one, or whoever could write there is gone.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// These end it at any time.
    pub stops: &'a [BorrowedFd<'a>],
    /// This one does so until the program has begun. From then on whoever interrupts the session, as from a keyboard,
    /// interrupts the program as well, and that decides what becomes of it.
    pub interrupts: BorrowedFd<'a>,
}

impl Words<'_> {
    /// Whether there is word to end.
    fn is_over(&self) -> io::Result<bool> {
        let stops = self.stops.iter().copied().chain([self.interrupts]);
        let mut fds: Vec<PollFd<'_>> =
            stops.map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(ready) => Ok(ready > 0),
            // It was a signal, and who sends some writes what they mean.
            Err(Errno::INTR) => self.is_over(),
            Err(error) => Err(error.into()),
        }
    }
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

    /// The first one that no route of the namespace knows and that nobody else has claimed, and the claim.
    fn free(namespace: &Namespace) -> io::Result<(Self, Claim)> {
        let routes = namespace.ip_says("-4 route show table all")?;
        let unknown = |subnet: &Self| !routes.contains(&format!("{}/30", subnet.four(0)));
        for subnet in (0..SUBNETS).map(Self).filter(unknown) {
            match namespace.run(move || Claim::of(subnet))? {
                Ok(claim) => return Ok((subnet, claim)),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("all of 198.18.0.0/16 is in use here"))
    }
}

/// A subnet is its holder's, as long as this lives: between a look at the routes and a route of one's own, another might
/// choose the same. It is a socket with an abstract name, of which each network namespace has its own, and which is gone with
/// its process, however that ends.
#[derive(Debug)]
struct Claim {
    _socket: UnixDatagram,
}

impl Claim {
    /// Claims a subnet in the calling thread's namespace.
    fn of(subnet: Subnet) -> io::Result<Self> {
        let name = SocketAddr::from_abstract_name(format!("tailback {}", subnet.four(0)))?;
        Ok(Self { _socket: UnixDatagram::bind_addr(&name)? })
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
        let (subnet, claim) = Subnet::free(&far)?;
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
        Ok(Self { near, far, files, devices, subnet, _claim: claim, masquerade })
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
    /// those of `down`. It ends with the near end's program, or when there is word to. Where that came before the program had
    /// begun there is nothing to tell.
    ///
    /// # Errors
    /// Programs that cannot be started, a server that fails before the program begins, rules that do not fit, devices that
    /// fail.
    pub fn run<R: RouterRecorder>(
        mut self,
        config: &SessionConfig,
        links: Vec<StandaloneLink>,
        (up, down): (Vec<usize>, Vec<usize>),
        recorder: R,
        words: Words<'_>,
    ) -> io::Result<Option<Ended<R>>> {
        if words.is_over()? {
            return Ok(None);
        }
        let mut server = None;
        if let Some(program) = &config.server {
            let started = server.insert(Server::start(program, &self.far)?);
            let outcome = started.await_listener(&self.far);
            // An interrupt is the server's, too, whose failure then says nothing.
            if words.is_over()? {
                return Ok(None);
            }
            outcome?;
        }
        let rules = vec![
            Rule { from: 0, to: 1, route: up, ..Rule::default() },
            Rule { from: 1, to: 0, route: down, ..Rule::default() },
        ];
        let files = std::mem::take(&mut self.files);
        let mut router = Router::new(files, links, rules, usize::from(config.mtu), recorder)?;
        let mut program = config.program.clone();
        program.variables.extend(self.variables());
        if words.is_over()? {
            return Ok(None);
        }
        let mut running = Running::start(&program, &self.near)?;
        // What has come since was too early for the program to hear of it.
        if words.is_over()? {
            return Ok(None);
        }
        let ended = running.as_file()?;
        let stops: Vec<BorrowedFd<'_>> = words.stops.iter().copied().chain([ended.as_fd()]).collect();
        let outcome = router.run(Time::NEVER, &stops);
        let unread = self.unread()?;
        let is_stopped = running.has_ended()?.is_none();
        let outlived = server.as_mut().map_or(Ok(None), Server::ended)?;
        let status = status_of(running.end()?);
        if let Some(server) = server {
            server.end()?;
        }
        outcome?;
        Ok(Some(Ended { status, is_stopped, router, unread, server: outlived }))
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
