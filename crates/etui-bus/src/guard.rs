//! Guards of handlers: a panic becomes an error reply. A client without an answer would wait for
//! minutes.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A handler's panic, to be converted to the error that its client gets.
#[derive(Debug, Clone, thiserror::Error)]
#[error("internal error: {message}")]
pub struct HandlerPanic {
    /// The panic's text; empty if it had none.
    pub message: String,
}

/// Runs a handler's work on the calling thread. A panic becomes an error.
///
/// # Errors
/// The error of `work`, or of its panic.
pub fn catch_panic<T, E: From<HandlerPanic>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        tracing::error!("a call failed by a defect: {message}");
        Err(HandlerPanic { message }.into())
    })
}

/// Runs work that waits for the disk or visits many records on a worker thread, so that other
/// clients are answered meanwhile. A panic becomes an error.
///
/// # Errors
/// The error of `work`, or of its panic.
pub async fn catch_panic_on_worker<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<HandlerPanic> + Send + 'static,
{
    zruntime::unblock(move || catch_panic(work)).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = catch_panic::<(), HandlerPanic>(|| panic!("so what")).unwrap_err();
        assert_eq!(error.to_string(), "internal error: so what");
    }
}
