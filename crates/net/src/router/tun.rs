//! TUN devices: network interfaces whose packets a program reads and writes. What the packets mean is `ip.rs`'s business,
//! addresses and routes are `namespace.rs`'s.
//!
//! One call to the system makes a device of a file; everything else is said to it by `ip`. Crates that do the same bring thirty
//! others for systems that a router is not for.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl};

use super::namespace::Namespace;

const FILE: &str = "/dev/net/tun";
/// Packets that the system keeps for a router that does not read for a while: at 1 Gbit/s and 1500 bytes, 0.12 s.
const KEPT: u32 = 10_000;
/// The bytes of an interface's name, its end included (`IFNAMSIZ`).
const NAME: usize = 16;
/// A device of IP packets (`IFF_TUN`), without a head of the driver's own before each (`IFF_NO_PI`).
const FLAGS: u16 = 0x0001 | 0x1000;

/// A device. It is gone when it is dropped, or its process ends in whatever way.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// A device in a namespace, up; `name` may end in `%d` for the next free number. Packets are whole, each with its
    /// checksums, and of at most `mtu` bytes.
    ///
    /// # Errors
    /// Where `/dev/net/tun` cannot be opened, or the process may not make interfaces there.
    pub fn new(namespace: &Namespace, name: &str, mtu: u16) -> io::Result<Self> {
        let wanted = name.to_owned();
        let (file, name) = namespace.run(move || open(&wanted))??;
        namespace.ip(&[&format!("link set dev {name} mtu {mtu} txqueuelen {KEPT} up")])?;
        Ok(Self { file, name })
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that packets are read from and written to, one by one, without waiting.
    pub fn into_file(self) -> OwnedFd {
        self.file.into()
    }
}

/// Opens a device in the calling thread's namespace; its name, too.
#[expect(unsafe_code, reason = "what the system reads and writes is described below")]
fn open(name: &str) -> io::Result<(File, String)> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(FILE);
    let file = file.map_err(|error| explained(&error))?;
    let mut request = Request { name: [0; NAME], flags: FLAGS, rest: [0; 22] };
    // The last byte stays zero.
    request.name.iter_mut().take(NAME - 1).zip(name.bytes()).for_each(|(to, from)| *to = from);
    // SAFETY: the request has the layout that the system expects, and outlives the call.
    unsafe { ioctl(&file, SetInterface(&mut request)) }.map_err(|error| explained(&error.into()))?;
    let length = request.name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
    Ok((file, String::from_utf8_lossy(&request.name[..length]).into_owned()))
}

/// What is asked of the system, which writes the device's name into it (`struct ifreq`).
#[repr(C)]
struct Request {
    name: [u8; NAME],
    flags: u16,
    rest: [u8; 22],
}

/// `TUNSETIFF`: makes a device of the file.
struct SetInterface<'a>(&'a mut Request);

#[expect(unsafe_code, reason = "the system's interface")]
// SAFETY: the number is that of `TUNSETIFF` (`_IOW('T', 202, int)`), which reads and writes a `struct ifreq`, whatever its
// number says.
unsafe impl Ioctl for SetInterface<'_> {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        0x4004_54ca
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// What to do about the errors that are met most.
fn explained(error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => {
            "expected a system with TUN devices (CONFIG_TUN), and in a container --device /dev/net/tun"
        }
        io::ErrorKind::PermissionDenied => {
            "expected read and write access for everybody, as systems commonly grant it (chmod 666 /dev/net/tun)"
        }
        _ => "expected an interface that this process may make",
    };
    io::Error::new(error.kind(), format!("{FILE}: {error}; {hint}"))
}
