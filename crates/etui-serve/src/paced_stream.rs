//! [`PacedStream`]: a connection whose client has to take the bytes written to it at a least rate.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection that fails with [`io::ErrorKind::TimedOut`] if its client reads too slowly.
///
/// The client has a balance of time, which is used up while a write waits, and which each written byte refills. So
/// a client may be silent for the whole balance now and then, but on average it has to reach the rate.
pub struct PacedStream<S> {
    stream: S,
    /// The largest balance.
    pause: Duration,
    /// Bytes per second.
    rate: u64,
    balance: Duration,
    /// Since when a write waits.
    waiting_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl<S> PacedStream<S> {
    /// Returns one whose client has to take `rate` bytes per second, with pauses of at most `pause`.
    pub fn new(stream: S, pause: Duration, rate: u64) -> Self {
        Self {
            stream,
            pause,
            rate: rate.max(1),
            balance: pause,
            waiting_since: None,
            timer: Box::pin(sleep_until(Instant::now())),
        }
    }

    fn check(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(count)) => {
                if let Some(since) = self.waiting_since.take() {
                    self.balance = self.balance.saturating_sub(since.elapsed());
                }
                let earned = Duration::from_secs_f64(*count as f64 / self.rate as f64);
                // A fast client saves no more than one pause for later.
                self.balance = self.balance.saturating_add(earned).min(self.pause);
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                if self.waiting_since.is_none() {
                    let now = Instant::now();
                    self.waiting_since = Some(now);
                    self.timer.as_mut().reset(now + self.balance);
                }
                if self.timer.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::io::Read;
    use std::os::unix::net::UnixStream as StdStream;

    use tokio::net::UnixStream;

    use super::*;

    const PAUSE: Duration = Duration::from_millis(400);

    /// Writes 200 KiB to a client that has to take `rate` bytes per second; returns how that ended.
    /// What the client returns is kept until then.
    fn write_to<T: Send + 'static>(
        far: impl FnOnce(StdStream) -> T + Send + 'static,
        rate: u64,
    ) -> io::Result<()> {
        let (near, client) = StdStream::pair().unwrap();
        rustix::net::sockopt::set_socket_send_buffer_size(&near, 4 << 10).unwrap();
        near.set_nonblocking(true).unwrap();
        let client = std::thread::spawn(move || far(client));
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let sent = builder.enable_all().build().unwrap().block_on(async {
            let near = UnixStream::from_std(near).unwrap();
            let mut paced = PacedStream::new(near, PAUSE, rate);
            let bytes = [0; 1 << 10];
            for _ in 0..200 {
                let write =
                    |context: &mut Context<'_>| Pin::new(&mut paced).poll_write(context, &bytes);
                std::future::poll_fn(write).await?;
            }
            Ok(())
        });
        client.join().unwrap();
        sent
    }

    #[test]
    fn who_reads_nothing_is_cut_off() {
        let begun = std::time::Instant::now();
        let refused = write_to(|silent| silent, 1000).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= PAUSE);
    }

    #[test]
    fn the_rate_decides_for_who_reads_a_little() {
        // About 100 KiB a second, for longer than the pause.
        let slow = |mut client: StdStream| {
            let mut part = [0; 4 << 10];
            while client.read(&mut part).is_ok_and(|count| count > 0) {
                std::thread::sleep(PAUSE / 10);
            }
        };
        write_to(slow, 2 << 10).unwrap();
        let refused = write_to(slow, 10 << 20).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
    }
}
