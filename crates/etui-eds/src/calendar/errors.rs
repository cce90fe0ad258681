//! The errors of a calendar.

use etui::calendar::ObjectError;

use crate::error::{EdsError, INVALID_OBJECT, OBJECT_NOT_FOUND, OTHER};

/// The error for an error of the store.
pub(super) fn store_error(error: etui::Error) -> EdsError {
    EdsError::of_calendar(&error)
}

/// The error for an edit that is not possible.
pub(super) fn object_error(error: ObjectError) -> EdsError {
    let code = match error {
        ObjectError::NoInstance(_) => OBJECT_NOT_FOUND,
        ObjectError::CannotSplit | ObjectError::NoRandomness(_) => OTHER,
        _ => INVALID_OBJECT,
    };
    EdsError::new(code, error.to_string())
}

/// The error for a UID that no object has.
pub(super) fn not_found(uid: &str) -> EdsError {
    let message = format!("there is no object with UID \"{uid}\"");
    EdsError::new(OBJECT_NOT_FOUND, message)
}
