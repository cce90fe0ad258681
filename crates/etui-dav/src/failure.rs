//! [`Failure`]: a request that is refused, with the condition that it broke.

use std::io;

use etui::Error;
use http::{Response, StatusCode};

use crate::query::QueryError;
use crate::respond::Respond;
use crate::xml::{Namespace, Writer};

/// A refused request: a status, the broken precondition as an element of `DAV:error` (RFC 4918 section 16), and a
/// sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The element, and the hrefs in it.
    pub(crate) condition: Option<(Namespace, &'static str)>,
    pub(crate) hrefs: Vec<String>,
    pub(crate) detail: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            condition: None,
            hrefs: Vec::new(),
            detail: detail.into(),
        }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing here")
    }

    #[must_use]
    pub(crate) fn with(mut self, ns: Namespace, condition: &'static str) -> Self {
        self.condition = Some((ns, condition));
        self
    }

    #[must_use]
    pub(crate) fn about(mut self, href: String) -> Self {
        self.hrefs.push(href);
        self
    }

    /// Writes the answer.
    pub(crate) fn write(&self, out: &mut dyn Respond) -> io::Result<()> {
        let mut body = Vec::new();
        let mut w = Writer::new(&mut body);
        w.declaration()?;
        w.open(&Namespace::Dav, "error")?;
        self.write_condition(&mut w)?;
        // An error of the store names its files; that is for the log.
        let detail = match self.status.is_server_error() {
            true => "the store cannot do this now; try again later",
            false => &self.detail,
        };
        w.leaf(&Namespace::Dav, "responsedescription", detail)?;
        w.finish()?;
        let mut head = Response::builder()
            .status(self.status)
            .header("content-type", "application/xml; charset=utf-8")
            .header("content-length", body.len());
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            head = head.header("retry-after", "5");
        }
        out.start(head.body(()).map_err(io::Error::other)?)?
            .write_all(&body)
    }

    /// Writes the element of the broken precondition.
    pub(crate) fn write_condition(&self, w: &mut Writer<'_>) -> io::Result<()> {
        let Some((ns, condition)) = &self.condition else {
            return Ok(());
        };
        if self.hrefs.is_empty() {
            return w.empty(ns, condition);
        }
        w.open(ns, condition)?;
        // RFC 3744 section 7.1.1.
        if *condition == "need-privileges" {
            for href in &self.hrefs {
                w.open(&Namespace::Dav, "resource")?;
                w.leaf(&Namespace::Dav, "href", href)?;
                w.open(&Namespace::Dav, "privilege")?;
                w.empty(&Namespace::Dav, "write")?;
                w.close()?;
                w.close()?;
            }
        } else {
            for href in &self.hrefs {
                w.leaf(&Namespace::Dav, "href", href)?;
            }
        }
        w.close()
    }
}

/// The end of a request that is not answered as it was meant.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is refused.
    Refused(Refusal),
    /// The connection failed, or the store while the answer was on its way.
    Io(io::Error),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// An error of the store before the answer began.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::DiskFull(_) => StatusCode::INSUFFICIENT_STORAGE,
            Error::Busy { .. } | Error::SettingsChanged(_) | Error::CheckedOut(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Error::NoCollection { .. } | Error::NoRecord { .. } => StatusCode::NOT_FOUND,
            Error::ReadOnly(_) | Error::LastCollection { .. } => StatusCode::FORBIDDEN,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::Refused(Refusal::new(status, error.to_string()))
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Store(error) => error.into(),
            error => Self::Refused(refusal_of_query(&error)),
        }
    }
}

/// Returns the refusal of a query, or of the form of a resource.
pub(crate) fn refusal_of_query(error: &QueryError) -> Refusal {
    let refusal = Refusal::new(error.status(), error.to_string());
    match error.precondition() {
        Some((ns, condition)) => refusal.with(ns.clone(), condition),
        None => refusal,
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;
