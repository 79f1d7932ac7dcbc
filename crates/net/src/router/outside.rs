//! How packets that leave a router get on in a network that knows nothing of it: by masquerade, as behind a home router. Only
//! private networks and those whose administrator asks for it are dealt with here.
//!
//! What is set up lives as long as the process: the table of rules belongs to a running `nft` (nftables' `owner` flag) and is
//! gone when that ends, and nothing that would stay, such as a kernel setting, is touched.

use std::fs;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use super::namespace::Namespace;

/// Whether this namespace's system passes packets on between interfaces.
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

/// The rules that hide a subnet behind the addresses of a namespace.
#[derive(Debug)]
pub(super) struct Masquerade(Child);

impl Masquerade {
    /// Hides `subnet`, whose packets come by `device`.
    pub(super) fn new(namespace: &Namespace, subnet: &str, device: &str) -> io::Result<Self> {
        forwards(namespace)?;
        let table = format!("tailback-{}-{device}", std::process::id());
        let rules = format!(
            "add table ip {table} {{ flags owner; }}\n\
             add chain ip {table} leaving {{ type nat hook postrouting priority srcnat; }}\n\
             add rule ip {table} leaving ip saddr {subnet} oifname != \"{device}\" masquerade\n"
        );
        let mut nft = Command::new("nft");
        nft.arg("--interactive").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = namespace.run(move || nft.spawn())?.map_err(|error| {
            io::Error::new(error.kind(), format!("nft: {error}; expected nftables to be installed"))
        })?;
        child.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(rules.as_bytes()))?;
        let mut this = Self(child);
        this.check(namespace, &table)?;
        Ok(this)
    }

    /// Whether the rules are there; what `nft` says of it, if not.
    fn check(&mut self, namespace: &Namespace, table: &str) -> io::Result<()> {
        for _ in 0..100 {
            let named = table.to_owned();
            let listed = namespace.run(move || {
                Command::new("nft").args(["list", "table", "ip", &named]).stdin(Stdio::null()).output()
            })??;
            if String::from_utf8_lossy(&listed.stdout).contains("masquerade") {
                return Ok(());
            }
            if self.0.try_wait()?.is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let mut said = String::new();
        if let Some(stderr) = &mut self.0.stderr {
            io::Read::read_to_string(stderr, &mut said)?;
        }
        Err(io::Error::other(format!("nft: no masquerade could be set up: {}", said.trim())))
    }
}

impl Drop for Masquerade {
    fn drop(&mut self) {
        // It ends when its input does; this is quicker.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Complains where packets are not passed on.
fn forwards(namespace: &Namespace) -> io::Result<()> {
    let setting = namespace.run(|| fs::read_to_string(FORWARDING))??;
    if setting.trim() == "1" {
        return Ok(());
    }
    Err(io::Error::other(
        "this system does not pass packets on between interfaces; expected net.ipv4.ip_forward to be 1: \
         `sysctl -w net.ipv4.ip_forward=1` sets it; --no-outside does without others, and --server runs \
         a server of yours at the far end",
    ))
}

/// Lets a namespace of our own pass packets on, so that another router within it reaches what is without.
pub(super) fn let_forward(namespace: &Namespace) -> io::Result<()> {
    // Where the system's settings cannot be written, only nesting is out, which then says so.
    let _ = namespace.run(|| fs::write(FORWARDING, "1"))?;
    Ok(())
}
