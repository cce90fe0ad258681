//! The server: [`NbdServer`].

use std::fs;
use std::io;
use std::net::Shutdown;
use std::num::NonZeroU64;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::connection;
use super::disk::BlockDisk;
use super::log::{DeviceEvent, DeviceLog};
use super::model::DeviceModel;
use crate::Error;

/// Connections at a time; a client beyond is refused.
const MAX_CONNECTIONS: usize = 16;

/// A block device on a Unix socket, for as long as this value exists.
///
/// Clients speak the fixed newstyle handshake of NBD; the only export has no name. Requests of a
/// connection are served in order.
#[derive(Debug)]
pub struct NbdServer {
    socket: PathBuf,
    device: Arc<Device>,
    /// Written to, it ends the listener.
    end: UnixStream,
    listener: Option<JoinHandle<()>>,
}

impl NbdServer {
    /// Starts a server on a socket, which must not exist. With `record` every write and flush
    /// is kept in memory for [`take_log`](Self::take_log).
    pub fn start(
        socket: &Path,
        disk: Arc<dyn BlockDisk>,
        model: &DeviceModel,
        record: bool,
    ) -> Result<Self, Error> {
        let named = |e: io::Error| Error::file(socket, e);
        let listener = UnixListener::bind(socket).map_err(named)?;
        let (end, ended) = UnixStream::pair().map_err(named)?;
        let device = Arc::new(Device {
            model: *model,
            state: Mutex::new(DeviceState {
                disk,
                log: record.then(Vec::new),
                busy_until: Instant::now(),
            }),
        });
        let served = device.clone();
        let listener = thread::Builder::new()
            .name("nbd-listener".to_owned())
            .spawn(move || listen(&listener, &ended, &served))
            .map_err(named)?;
        Ok(Self {
            socket: socket.to_owned(),
            device,
            end,
            listener: Some(listener),
        })
    }

    /// Sets a mark in the log, e.g. for an acknowledged record. It is after all requests that
    /// have been answered.
    pub fn mark(&self, mark: &[u8]) {
        let mut state = self.device.state();
        if let Some(log) = &mut state.log {
            log.push(DeviceEvent::Mark(mark.into()));
        }
    }

    /// Returns the record since the start or the last call; empty if nothing is recorded.
    pub fn take_log(&self) -> DeviceLog {
        let mut state = self.device.state();
        state.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Presents other contents, of equal size, to all clients from the next request on. A
    /// client's caches are not its matter.
    pub fn replace_disk(&self, disk: Arc<dyn BlockDisk>) -> Result<(), Error> {
        let mut state = self.device.state();
        if disk.size() != state.disk.size() {
            return Err(Error::other(format!(
                "a device of {} bytes cannot show a disk of {}",
                state.disk.size(),
                disk.size()
            )));
        }
        state.disk = disk;
        Ok(())
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        // The listener ends all connections, and then itself.
        let _ = self.end.shutdown(Shutdown::Both);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let _ = fs::remove_file(&self.socket);
    }
}

/// Accepts clients until the other end of `ended` is closed.
fn listen(listener: &UnixListener, ended: &UnixStream, device: &Arc<Device>) {
    let mut connections: Vec<(UnixStream, JoinHandle<()>)> = Vec::new();
    loop {
        let mut ready = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(ended, PollFlags::IN),
        ];
        match rustix::event::poll(&mut ready, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break,
        }
        if !ready[1].revents().is_empty() {
            break;
        }
        let Ok((stream, _)) = listener.accept() else {
            // E.g. no descriptor is free; the client waits.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        connections.retain(|(_, thread)| !thread.is_finished());
        if connections.len() >= MAX_CONNECTIONS {
            continue;
        }
        let served = device.clone();
        let started = stream.try_clone().and_then(|handle| {
            thread::Builder::new()
                .name("nbd-client".to_owned())
                .spawn(move || serve_client(&stream, &served))
                .map(|thread| (handle, thread))
        });
        connections.extend(started);
    }
    for (stream, thread) in connections {
        let _ = stream.shutdown(Shutdown::Both);
        let _ = thread.join();
    }
}

fn serve_client(stream: &UnixStream, device: &Device) {
    // By default the kernel ends a sleep up to 50 us late.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // A client that breaks the protocol or vanishes loses its connection; others are served on.
    let _ = connection::serve(stream, device);
    let _ = stream.shutdown(Shutdown::Both);
}

/// The device below all connections.
#[derive(Debug)]
pub struct Device {
    model: DeviceModel,
    state: Mutex<DeviceState>,
}

#[derive(Debug)]
struct DeviceState {
    disk: Arc<dyn BlockDisk>,
    log: Option<DeviceLog>,
    /// End of the last request's time: requests are served one after the other.
    busy_until: Instant,
}

impl Device {
    fn state(&self) -> MutexGuard<'_, DeviceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn size(&self) -> u64 {
        self.state().disk.size()
    }

    /// Does a request, and returns when the model's device would have done it.
    fn serve<T>(
        &self,
        time: Duration,
        work: impl FnOnce(&mut DeviceState) -> io::Result<T>,
    ) -> io::Result<T> {
        let arrived = Instant::now();
        let mut state = self.state();
        let done = work(&mut state)?;
        if time.is_zero() {
            return Ok(done);
        }
        let end = arrived.max(state.busy_until) + time;
        state.busy_until = end;
        drop(state);
        thread::sleep(end.saturating_duration_since(Instant::now()));
        Ok(done)
    }

    pub fn read(&self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        let time = self.model.read_time(data.len() as u64);
        self.serve(time, |state| state.disk.read_at(offset, data))
    }

    pub fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> io::Result<()> {
        let time = self.model.write_time(data.len() as u64, force_unit_access);
        self.serve(time, |state| {
            state.disk.write_at(offset, data)?;
            state.record(|| DeviceEvent::Write {
                offset,
                data: data.into(),
                force_unit_access,
            });
            Ok(())
        })
    }

    /// Makes sectors zeros, or trims them.
    pub fn zero(&self, offset: u64, length: u64, force_unit_access: bool) -> io::Result<()> {
        // Carries no data: without transfer.
        let time = self.model.write_time(0, force_unit_access);
        self.serve(time, |state| {
            state.disk.zero_at(offset, length)?;
            state.record(|| DeviceEvent::Zero {
                offset,
                length,
                force_unit_access,
            });
            Ok(())
        })
    }

    pub fn flush(&self) -> io::Result<()> {
        self.serve(self.model.flush_latency, |state| {
            state.record(|| DeviceEvent::Flush);
            Ok(())
        })
    }
}

impl DeviceState {
    fn record(&mut self, event: impl FnOnce() -> DeviceEvent) {
        if let Some(log) = &mut self.log {
            log.push(event());
        }
    }
}
