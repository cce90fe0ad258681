//! [`Multistatus`]: the answer 207 (RFC 4918 section 13), written as it comes.

use std::io;

use http::{Response, StatusCode};

use crate::failure::Refusal;
use crate::property::{Name, Value};
use crate::respond::Respond;
use crate::xml::{Namespace, Writer};

/// A multistatus answer that is being written.
pub(crate) struct Multistatus<'o> {
    w: Writer<'o>,
    /// Whether missing properties are left out (RFC 8144).
    is_minimal: bool,
    pub(crate) responses: u64,
}

impl<'o> Multistatus<'o> {
    /// Sends the head of the answer.
    pub(crate) fn start(out: &'o mut dyn Respond, is_minimal: bool) -> io::Result<Self> {
        let mut head = Response::builder()
            .status(StatusCode::MULTI_STATUS)
            .header("content-type", "application/xml; charset=utf-8")
            .header("dav", crate::method::DAV_CLASSES);
        if is_minimal {
            head = head.header("preference-applied", "return=minimal");
        }
        let mut w = Writer::new(out.start(head.body(()).map_err(io::Error::other)?)?);
        w.declaration()?;
        w.open(&Namespace::Dav, "multistatus")?;
        Ok(Self {
            w,
            is_minimal,
            responses: 0,
        })
    }

    /// Writes a resource and its properties; `None` for one that it does not have.
    pub(crate) fn properties<'v>(
        &mut self,
        href: &str,
        properties: impl IntoIterator<Item = (&'v Name, Option<Value<'v>>)>,
    ) -> io::Result<()> {
        self.responses += 1;
        let w = &mut self.w;
        w.open(&Namespace::Dav, "response")?;
        w.leaf(&Namespace::Dav, "href", href)?;
        let mut missing = Vec::new();
        let mut has_found = false;
        for (name, value) in properties {
            let Some(value) = value else {
                missing.push(name);
                continue;
            };
            if !has_found {
                has_found = true;
                w.open(&Namespace::Dav, "propstat")?;
                w.open(&Namespace::Dav, "prop")?;
            }
            value.write(w, name)?;
        }
        if has_found {
            w.close()?;
            end_propstat(w, StatusCode::OK)?;
        }
        if !missing.is_empty() && !self.is_minimal {
            w.open(&Namespace::Dav, "propstat")?;
            w.open(&Namespace::Dav, "prop")?;
            for name in missing {
                w.empty(&name.ns, &name.local)?;
            }
            w.close()?;
            end_propstat(w, StatusCode::NOT_FOUND)?;
        } else if !has_found {
            // A response has at least one propstat.
            w.open(&Namespace::Dav, "propstat")?;
            w.empty(&Namespace::Dav, "prop")?;
            end_propstat(w, StatusCode::OK)?;
        }
        w.close()
    }

    /// Writes a resource and its properties, which were read before.
    pub(crate) fn values(
        &mut self,
        href: &str,
        values: &[(Name, Option<Value<'_>>)],
    ) -> io::Result<()> {
        self.properties(
            href,
            values.iter().map(|(name, value)| (name, value.clone())),
        )
    }

    /// Writes the names of properties without values.
    pub(crate) fn names(&mut self, href: &str, names: &[Name]) -> io::Result<()> {
        let all = names.iter().map(|name| (name, Some(Value::Empty)));
        self.properties(href, all)
    }

    /// Writes the result for each property that a client wanted to change.
    pub(crate) fn changed(
        &mut self,
        href: &str,
        results: &[(Name, Option<Refusal>)],
    ) -> io::Result<()> {
        self.responses += 1;
        self.w.open(&Namespace::Dav, "response")?;
        self.w.leaf(&Namespace::Dav, "href", href)?;
        write_changed(&mut self.w, results)?;
        self.w.close()
    }

    /// Writes a status for a resource as a whole.
    pub(crate) fn status(&mut self, href: &str, refusal: &Refusal) -> io::Result<()> {
        self.responses += 1;
        let w = &mut self.w;
        w.open(&Namespace::Dav, "response")?;
        w.leaf(&Namespace::Dav, "href", href)?;
        write_status(w, refusal.status)?;
        if refusal.condition.is_some() {
            w.open(&Namespace::Dav, "error")?;
            refusal.write_condition(w)?;
            w.close()?;
        }
        w.close()
    }

    /// Writes that a resource is not there.
    pub(crate) fn not_found(&mut self, href: &str) -> io::Result<()> {
        self.status(href, &Refusal::not_found())
    }

    /// Writes the token of a synchronisation.
    pub(crate) fn sync_token(&mut self, token: &str) -> io::Result<()> {
        self.w.leaf(&Namespace::Dav, "sync-token", token)
    }

    /// Writes the end.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.w.finish()
    }
}

/// Writes the propstats of changed properties, those that were changed first.
pub(crate) fn write_changed(
    w: &mut Writer<'_>,
    results: &[(Name, Option<Refusal>)],
) -> io::Result<()> {
    let mut rest: Vec<&(Name, Option<Refusal>)> = results.iter().collect();
    while let Some((_, first)) = rest.first() {
        w.open(&Namespace::Dav, "propstat")?;
        w.open(&Namespace::Dav, "prop")?;
        let (alike, others): (Vec<_>, Vec<_>) =
            rest.iter().copied().partition(|(_, one)| one == first);
        for (name, _) in &alike {
            w.empty(&name.ns, &name.local)?;
        }
        w.close()?;
        match first {
            None => write_status(w, StatusCode::OK)?,
            Some(refusal) => {
                write_status(w, refusal.status)?;
                if refusal.condition.is_some() {
                    w.open(&Namespace::Dav, "error")?;
                    refusal.write_condition(w)?;
                    w.close()?;
                }
                w.leaf(&Namespace::Dav, "responsedescription", &refusal.detail)?;
            }
        }
        w.close()?;
        rest = others;
    }
    Ok(())
}

fn end_propstat(w: &mut Writer<'_>, status: StatusCode) -> io::Result<()> {
    write_status(w, status)?;
    w.close()
}

/// Writes a status line. Thunderbird compares it as a whole, so it always says HTTP/1.1.
fn write_status(w: &mut Writer<'_>, status: StatusCode) -> io::Result<()> {
    let reason = status.canonical_reason().unwrap_or_default();
    let line = format!("HTTP/1.1 {} {reason}", status.as_u16());
    w.leaf(&Namespace::Dav, "status", &line)
}
