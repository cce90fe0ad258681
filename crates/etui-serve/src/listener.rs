//! Where connections come from: TCP addresses and a Unix socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::ServeError;

/// The buffer of the system for bytes that a client has not read, in bytes.
const SEND_BUFFER: usize = 256 << 10;

/// A connection.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// A bound address.
pub enum Listener {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

impl Listener {
    /// Waits for a connection; returns it with the client's address. Data that the client does not take
    /// within `pause` end a TCP connection.
    pub async fn accept(
        &self,
        pause: Duration,
    ) -> io::Result<(Box<dyn Connection>, Option<IpAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let pause = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX);
                rustix::net::sockopt::set_tcp_user_timeout(&stream, pause)?;
                // A larger one would hide for minutes that a client reads too slowly.
                rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER)?;
                Ok((Box::new(stream), Some(address.ip())))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Box::new(stream), None))
            }
        }
    }
}

/// A bound address, before the server runs.
pub enum BoundListener {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

impl BoundListener {
    /// Registers it with the runtime, in which this is called.
    pub fn register(self) -> io::Result<Listener> {
        match self {
            Self::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                tokio::net::TcpListener::from_std(listener).map(Listener::Tcp)
            }
            Self::Unix(listener) => {
                listener.set_nonblocking(true)?;
                tokio::net::UnixListener::from_std(listener).map(Listener::Unix)
            }
        }
    }
}

/// Listens on a TCP address.
pub fn bind_tcp(address: SocketAddr) -> Result<std::net::TcpListener, ServeError> {
    std::net::TcpListener::bind(address).map_err(|source| ServeError::Listen {
        address: address.to_string(),
        source,
    })
}

/// A Unix socket, which is removed when this is dropped, unless another server has replaced it.
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            identity: identity_of(path)?,
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another server may have made its own socket at this path.
        if identity_of(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity_of(path: &Path) -> io::Result<(u64, u64)> {
    let file = std::fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Listens on a Unix socket. One that a killed server left is replaced. Every user of the machine may connect,
/// as with TCP on loopback; a directory's permissions can restrict it.
pub fn bind_unix(
    path: &Path,
) -> Result<(std::os::unix::net::UnixListener, SocketFile), ServeError> {
    let bind = || {
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
        if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
            std::fs::remove_file(path)?;
        }
        let listener = std::os::unix::net::UnixListener::bind(path)?;
        let file = SocketFile::new(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
        Ok((listener, file))
    };
    bind().map_err(|source| ServeError::Listen {
        address: path.display().to_string(),
        source,
    })
}
