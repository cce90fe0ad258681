//! Answers: from a worker, which writes them, to the connection.
//!
//! A worker's answer is collected up to [`COLLECTED`] bytes. If it ends before, it is sent with its length;
//! otherwise it is sent in pieces, chunked, through a channel that holds a few of them.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use etui_dav::Respond;

/// Answers below this size, in bytes, are collected.
const COLLECTED: usize = 64 << 10;

/// Pieces of an answer that wait for the connection.
const WAITING_PIECES: usize = 4;

/// A piece of an answer in the channel.
enum Piece {
    Data(Bytes),
    /// The answer is complete. Without it the connection is cut, so that the client knows.
    End,
}

/// The body of an answer.
pub enum AnswerBody {
    /// In memory.
    Whole(Bytes),
    /// From a worker.
    Pieces(Pieces),
}

/// Pieces of an answer from a worker.
pub struct Pieces(mpsc::Receiver<Piece>);

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
            Self::Pieces(Pieces(pieces)) => pieces.poll_recv(context).map(|piece| match piece {
                Some(Piece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
                Some(Piece::End) => None,
                None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

/// An answer as a worker writes it.
pub struct AnswerWriter {
    /// Where the head goes, until it is sent.
    answer: Option<oneshot::Sender<Response<AnswerBody>>>,
    head: Option<Response<()>>,
    collected: Vec<u8>,
    pieces: Option<mpsc::Sender<Piece>>,
    runtime: Handle,
    pause: Duration,
    written: u64,
}

impl AnswerWriter {
    /// Returns one whose answer is received by the other value. A client that takes nothing for `pause`
    /// gets no more.
    pub fn new(
        runtime: Handle,
        pause: Duration,
    ) -> (Self, oneshot::Receiver<Response<AnswerBody>>) {
        let (answer, received) = oneshot::channel();
        let writer = Self {
            answer: Some(answer),
            head: None,
            collected: Vec::new(),
            pieces: None,
            runtime,
            pause,
            written: 0,
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
    /// The client is gone, or does not read.
    pub fn finish(mut self) -> io::Result<()> {
        if self.pieces.is_some() {
            self.send_collected()?;
            return self.send(Piece::End);
        }
        let collected = std::mem::take(&mut self.collected);
        self.send_head(collected.into())
    }

    fn send_head(&mut self, body: AnswerBody) -> io::Result<()> {
        let (Some(head), Some(answer)) = (self.head.take(), self.answer.take()) else {
            return Err(io::Error::other("an answer without a head"));
        };
        let sent = answer.send(head.map(|()| body));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn send_collected(&mut self) -> io::Result<()> {
        if self.collected.is_empty() {
            return Ok(());
        }
        let next = Vec::with_capacity(COLLECTED);
        let piece = std::mem::replace(&mut self.collected, next);
        self.send(Piece::Data(piece.into()))
    }

    fn send(&self, piece: Piece) -> io::Result<()> {
        let Some(pieces) = &self.pieces else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        match pieces.try_send(piece) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(TrySendError::Full(piece)) => self.runtime.block_on(async {
                match tokio::time::timeout(self.pause, pieces.send(piece)).await {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
                    Err(_) => Err(io::ErrorKind::TimedOut.into()),
                }
            }),
        }
    }
}

impl Respond for AnswerWriter {
    fn start(&mut self, head: Response<()>) -> io::Result<&mut dyn Write> {
        if self.head.is_some() || self.answer.is_none() {
            return Err(io::Error::other("an answer with two heads"));
        }
        self.head = Some(head);
        Ok(self)
    }
}

impl Write for AnswerWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = COLLECTED.saturating_sub(self.collected.len()).max(1);
        let taken = &bytes[..bytes.len().min(room)];
        self.collected.extend_from_slice(taken);
        self.written += taken.len() as u64;
        if self.collected.len() >= COLLECTED {
            if self.pieces.is_none() {
                let (sender, receiver) = mpsc::channel(WAITING_PIECES);
                self.pieces = Some(sender);
                self.send_head(AnswerBody::Pieces(Pieces(receiver)))?;
            }
            self.send_collected()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
