//! Answers: a panic becomes an error reply, and long work runs beside the bus's thread.

use etui_bus::guard::{HandlerPanic, catch_panic, catch_panic_on_worker};

use crate::error::{EdsError, EdsResult, OTHER};

impl From<HandlerPanic> for EdsError {
    fn from(panic: HandlerPanic) -> Self {
        Self::new(OTHER, panic.to_string())
    }
}

/// Runs a handler's work at once. A panic becomes an error: a client without an answer would wait
/// for minutes.
pub fn answer<T>(work: impl FnOnce() -> EdsResult<T>) -> EdsResult<T> {
    catch_panic(work)
}

/// Runs work that waits for the disk or visits many records on a worker thread, so that other
/// clients are answered meanwhile.
pub async fn answer_on_worker<T: Send + 'static>(
    work: impl FnOnce() -> EdsResult<T> + Send + 'static,
) -> EdsResult<T> {
    catch_panic_on_worker(work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = answer::<()>(|| panic!("so what")).unwrap_err();
        assert_eq!(error.message(), "internal error: so what");
    }
}
