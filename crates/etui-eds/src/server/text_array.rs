//! [`TextArray`]: texts of a reply, within the limit of D-Bus.

use crate::error::{EdsError, EdsResult, SIZE_LIMIT};

/// Bytes of one array of D-Bus. The bus disconnects a service that sends a longer one.
pub const MAX_ARRAY: usize = 64 << 20;
/// At most this many bytes of each text are its length, its end and its alignment.
const TEXT_OVERHEAD: usize = 8;

/// Collects the texts of a reply.
#[derive(Default)]
pub struct TextArray {
    texts: Vec<String>,
    bytes: usize,
}

impl TextArray {
    /// Adds a text. What cannot be sent is not kept.
    pub fn push(&mut self, text: String) {
        self.bytes += text.len() + TEXT_OVERHEAD;
        if self.bytes <= MAX_ARRAY {
            self.texts.push(text);
        } else {
            self.texts = Vec::new();
        }
    }

    /// Returns the texts.
    ///
    /// # Errors
    /// If they are more than an array can hold.
    pub fn finish(self) -> EdsResult<Vec<String>> {
        if self.bytes > MAX_ARRAY {
            let reason = "the answer has more than 64 MiB; ask for less at once";
            return Err(EdsError::new(SIZE_LIMIT, reason));
        }
        Ok(self.texts)
    }
}
