//! Where the server listens: a loopback address, or a socket that only its owner can use.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::process::{geteuid, umask};

use crate::core::{Error, Result};

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port of a loopback address.
    Loopback(SocketAddr),
    /// A socket.
    Socket(PathBuf),
}

impl Address {
    /// Parses a loopback address with a port; others are refused.
    pub fn loopback(text: &str) -> Result<Self> {
        let named = text.strip_prefix("localhost:");
        let address = match named.map(str::parse::<u16>) {
            Some(port) => port
                .ok()
                .map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
            None => text.parse().ok(),
        };
        match address {
            Some(address) if address.ip().is_loopback() => Ok(Self::Loopback(address)),
            Some(_) => Err(Error::refused(
                text,
                "not a loopback address; what agents did is served to this machine alone, because calls are neither encrypted nor authenticated: use 127.0.0.1:PORT or --socket PATH",
            )),
            None => Err(Error::refused(
                text,
                "not an address with a port; use 127.0.0.1:PORT, [::1]:PORT or --socket PATH, since only this machine is served",
            )),
        }
    }
}

/// A place where clients can connect. A socket is removed on drop.
#[derive(Debug)]
pub struct Listener {
    bound: Bound,
    socket: Option<Socket>,
}

/// What clients connect to.
#[derive(Debug)]
pub(super) enum Bound {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A socket's file, recognized by its device and number.
#[derive(Debug)]
struct Socket {
    path: PathBuf,
    identity: (u64, u64),
}

impl Listener {
    /// Begins to listen. Must be called before other threads create files, whose modes it would
    /// restrict as well.
    pub fn bind(address: &Address) -> Result<Self> {
        match address {
            Address::Loopback(address) => {
                let failed = |e| Error::io(address.to_string(), e);
                let listener = TcpListener::bind(address).map_err(failed)?;
                Ok(Self {
                    bound: Bound::Tcp(listener),
                    socket: None,
                })
            }
            Address::Socket(path) => bind_socket(path),
        }
    }

    /// Returns the address as clients write it.
    pub fn name(&self) -> String {
        match (&self.bound, &self.socket) {
            (_, Some(socket)) => format!("unix:{}", socket.path.display()),
            (Bound::Tcp(listener), None) => {
                let address = listener.local_addr();
                address.map_or_else(|e| e.to_string(), |address| address.to_string())
            }
            (Bound::Unix(_), None) => String::new(),
        }
    }

    /// Returns what clients connect to, for an asynchronous runtime.
    pub(super) fn bound(&self) -> io::Result<Bound> {
        match &self.bound {
            Bound::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                Ok(Bound::Tcp(listener.try_clone()?))
            }
            Bound::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Ok(Bound::Unix(listener.try_clone()?))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket
            && identity(&socket.path).is_ok_and(|found| found == socket.identity)
        {
            // A socket that stays is found to be stale by the next server.
            drop(fs::remove_file(&socket.path));
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn bind_socket(path: &Path) -> Result<Listener> {
    let failed = |e| Error::io(path, e);
    check_folder(path)?;
    remove_stale(path)?;
    // From its first moment on, others have no access.
    let before = umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    let bound = bound.map_err(failed)?;
    let socket = Socket {
        path: path.to_owned(),
        identity: identity(path).map_err(failed)?,
    };
    Ok(Listener {
        bound: Bound::Unix(bound),
        socket: Some(socket),
    })
}

/// Refuses a folder in which somebody else could put another socket in the place of this one.
fn check_folder(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let found = fs::metadata(folder).map_err(|e| Error::io(folder, e))?;
    let is_own = found.uid() == geteuid().as_raw();
    if !is_own || found.permissions().mode() & 0o022 != 0 {
        return Err(Error::refused(
            path.display().to_string(),
            "others can write to its directory and could put a socket of their own in its place; use a directory that is yours alone",
        ));
    }
    Ok(())
}

/// Removes a socket of a server that is gone.
fn remove_stale(path: &Path) -> Result<()> {
    let refused = |reason: &str| Err(Error::refused(path.display().to_string(), reason));
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return refused("there is something else than a socket; use another path");
    }
    match UnixStream::connect(path) {
        Ok(_) => refused("a server is listening there; end it, or use another path"),
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|e| Error::io(path, e))
        }
        Err(e) => Err(Error::io(path, e)),
    }
}
