//! [`Respond`]: where an answer goes.

use std::io;

use http::Response;

/// Where an answer goes. A server sends it as it comes; [`Collected`] keeps it.
pub trait Respond {
    /// Takes the head of the answer and returns the stream for its body. It is called once.
    ///
    /// The head has a `Content-Length` if the length of the body is known.
    ///
    /// # Errors
    /// Those of the connection.
    fn start(&mut self, head: Response<()>) -> io::Result<&mut dyn io::Write>;
}

/// Keeps an answer in memory, for tests and small programs.
#[derive(Debug, Default)]
pub struct Collected {
    head: Response<()>,
    body: Vec<u8>,
}

impl Collected {
    /// Returns one that has nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the answer.
    #[must_use]
    pub fn into_response(self) -> Response<Vec<u8>> {
        self.head.map(|()| self.body)
    }
}

impl Respond for Collected {
    fn start(&mut self, head: Response<()>) -> io::Result<&mut dyn io::Write> {
        self.head = head;
        self.body.clear();
        Ok(&mut self.body)
    }
}
