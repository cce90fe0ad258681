//! [`QueryError`]: why a query is not answered.

use http::StatusCode;

use crate::xml::Namespace;

/// The error of a query, or of the parts of objects that it asks for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The request does not follow its DTD.
    #[error("{0}")]
    Malformed(String),
    /// The request violates a precondition (RFC 4791 section 7.8, RFC 6352 section 8.6).
    #[error("{element}: {detail}")]
    Precondition {
        /// The namespace of the precondition's element.
        namespace: Namespace,
        /// The name of the precondition's element, such as `valid-filter`.
        element: &'static str,
        /// The fault.
        detail: String,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] etui::Error),
}

impl QueryError {
    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::Malformed(detail.into())
    }

    /// Returns the violation of a precondition of CalDAV.
    pub(super) fn caldav(element: &'static str, detail: impl Into<String>) -> Self {
        Self::Precondition {
            namespace: Namespace::CalDav,
            element,
            detail: detail.into(),
        }
    }

    /// Returns the violation of a precondition of CardDAV.
    pub(super) fn carddav(element: &'static str, detail: impl Into<String>) -> Self {
        Self::Precondition {
            namespace: Namespace::CardDav,
            element,
            detail: detail.into(),
        }
    }

    /// Returns the status of the answer: 400, 403, or 500 for an error of the store.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Precondition { .. } => StatusCode::FORBIDDEN,
            Self::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns namespace and name of the element that the body of the answer has in `DAV:error`
    /// (RFC 4918 section 16).
    #[must_use]
    pub fn precondition(&self) -> Option<(&Namespace, &'static str)> {
        match self {
            Self::Precondition {
                namespace, element, ..
            } => Some((namespace, element)),
            _ => None,
        }
    }
}
