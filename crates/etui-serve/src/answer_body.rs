//! Answers: from a worker, which writes them, to the connection.
//!
//! A worker's answer is collected up to [`COLLECTED`] bytes. If it ends before, it is sent with its length;
//! otherwise it is sent in chunks, through a channel that holds a few of them. A worker waits for a client only for a
//! short time in all; then it writes the rest to the [`Spool`], from which the connection sends it.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use etui_dav::Respond;

use crate::spool::{Spool, SpooledFile};

/// Answers below this size, in bytes, are collected. It is also the size of a chunk.
const COLLECTED: usize = 64 << 10;

/// Chunks of an answer that wait for the connection.
const WAITING_CHUNKS: usize = 4;

/// A part of an answer in the channel.
enum AnswerChunk {
    Data(Bytes),
    /// The answer is complete, or the rest of it is in a file. Without it the connection is cut, so that the
    /// client knows.
    End(Option<SpooledFile>),
}

/// The body of an answer.
pub enum AnswerBody {
    /// In memory.
    Whole(Bytes),
    /// From a worker.
    Streamed(StreamedBody),
}

/// The body of an answer that a worker writes.
pub struct StreamedBody {
    chunks: mpsc::Receiver<AnswerChunk>,
    rest: Option<SpooledFile>,
}

impl StreamedBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.rest.is_none() {
            match self.chunks.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {
                    return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
                }
                Poll::Ready(Some(AnswerChunk::Data(bytes))) => {
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Poll::Ready(Some(AnswerChunk::End(None))) => return Poll::Ready(None),
                Poll::Ready(Some(AnswerChunk::End(rest))) => self.rest = rest,
            }
        }
        // A file that was written just now is in the page cache.
        let read = self.rest.as_mut().map(|file| file.read_chunk(COLLECTED));
        Poll::Ready(match read {
            Some(Ok(bytes)) if bytes.is_empty() => None,
            Some(Ok(bytes)) => Some(Ok(bytes.into())),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }
}

impl<T: Into<Bytes>> From<T> for AnswerBody {
    fn from(bytes: T) -> Self {
        Self::Whole(bytes.into())
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => {
                let all = std::mem::take(bytes);
                Poll::Ready(Some(Ok(Frame::data(all))))
            }
            Self::Streamed(streamed) => {
                let chunk = streamed.poll_chunk(context);
                chunk.map(|chunk| chunk.map(|read| read.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Streamed(_) => SizeHint::default(),
        }
    }
}

/// An answer as a worker writes it.
pub struct AnswerWriter {
    /// Where the head goes, until it is sent.
    answer: Option<oneshot::Sender<Response<AnswerBody>>>,
    head: Option<Response<()>>,
    collected: Vec<u8>,
    chunks: Option<mpsc::Sender<AnswerChunk>>,
    runtime: Handle,
    /// How long the worker still waits for the client.
    patience: Duration,
    spool: Arc<Spool>,
    /// The rest of the answer, once the patience is over.
    rest: Option<SpooledFile>,
    written: u64,
    /// The head says how long the answer is.
    has_length: bool,
}

impl AnswerWriter {
    /// Returns one whose answer is received by the other value. It waits for the client for at most `patience`
    /// in all.
    pub fn new(
        runtime: Handle,
        patience: Duration,
        spool: Arc<Spool>,
    ) -> (Self, oneshot::Receiver<Response<AnswerBody>>) {
        let (answer, received) = oneshot::channel();
        let writer = Self {
            answer: Some(answer),
            head: None,
            collected: Vec::new(),
            chunks: None,
            runtime,
            patience,
            spool,
            rest: None,
            written: 0,
            has_length: false,
        };
        (writer, received)
    }

    /// Returns the number of bytes written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Sends the collected bytes, and the end.
    ///
    /// # Errors
    /// The client is gone, or the spool has no room.
    pub fn finish(mut self) -> io::Result<()> {
        if self.chunks.is_none() {
            let collected = std::mem::take(&mut self.collected);
            return self.send_head(collected.into());
        }
        self.send_collected()?;
        let mut rest = self.rest.take();
        if let Some(file) = &mut rest {
            file.rewind()?;
        }
        let Some(chunks) = &self.chunks else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // There is always a place for the end.
        let sent = chunks.try_send(AnswerChunk::End(rest));
        match sent {
            // The connection does not wait for the end of an answer whose length it knows.
            Err(TrySendError::Closed(AnswerChunk::End(None))) if self.has_length => Ok(()),
            sent => sent.map_err(|_| io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn send_head(&mut self, body: AnswerBody) -> io::Result<()> {
        let (Some(head), Some(answer)) = (self.head.take(), self.answer.take()) else {
            return Err(io::Error::other("an answer without a head"));
        };
        let sent = answer.send(head.map(|()| body));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends the collected bytes to the connection, or to the spool.
    fn send_collected(&mut self) -> io::Result<()> {
        if self.collected.is_empty() {
            return Ok(());
        }
        let Some(chunks) = &self.chunks else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        if chunks.is_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.rest.is_none() {
            let begun = Instant::now();
            // Two: the last place stays free for the end.
            let room = async { tokio::time::timeout(self.patience, chunks.reserve_many(2)).await };
            match self.runtime.block_on(room) {
                Ok(Ok(mut places)) => {
                    if let Some(place) = places.next() {
                        let next = Vec::with_capacity(COLLECTED);
                        let data = std::mem::replace(&mut self.collected, next);
                        place.send(AnswerChunk::Data(data.into()));
                    }
                    // The patience is that of the whole answer.
                    self.patience = self.patience.saturating_sub(begun.elapsed());
                    return Ok(());
                }
                Ok(Err(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(_) => self.rest = Some(self.spool.create()?),
            }
        }
        if let Some(rest) = &mut self.rest {
            rest.write_all(&self.collected)?;
            self.collected.clear();
        }
        Ok(())
    }
}

impl Respond for AnswerWriter {
    fn start(&mut self, head: Response<()>) -> io::Result<&mut dyn Write> {
        if self.head.is_some() || self.answer.is_none() {
            return Err(io::Error::other("an answer with two heads"));
        }
        self.has_length = head.headers().contains_key(CONTENT_LENGTH);
        self.head = Some(head);
        Ok(self)
    }
}

impl Write for AnswerWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // At least one byte: a write of none would mean that no more can be written.
        let room = COLLECTED.saturating_sub(self.collected.len()).max(1);
        let taken = &bytes[..bytes.len().min(room)];
        self.collected.extend_from_slice(taken);
        self.written += taken.len() as u64;
        if self.collected.len() >= COLLECTED {
            if self.chunks.is_none() {
                let (sender, chunks) = mpsc::channel(WAITING_CHUNKS + 1);
                self.chunks = Some(sender);
                let body = StreamedBody { chunks, rest: None };
                self.send_head(AnswerBody::Streamed(body))?;
            }
            self.send_collected()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
