//! XML of requests and answers.
//!
//! [`Element::parse`] reads a request's body into one bounded tree: no DOCTYPE, no entities but the five of XML
//! itself, limits on size, depth and number of elements ([`Limits`]; RFC 4918 section 20.6). [`Writer`]
//! streams an answer with fixed prefixes.
//!
//! ```
//! use etui_dav::xml::{Element, Limits, Namespace};
//!
//! let body = br#"<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>"#;
//! let report = Element::parse(body, &Limits::default())?;
//! assert!(report.is(&Namespace::Dav, "propfind"));
//! let prop = report.child(&Namespace::Dav, "prop");
//! assert_eq!(prop.map(|prop| prop.children[0].name.as_str()), Some("getetag"));
//! # Ok::<(), etui_dav::xml::XmlError>(())
//! ```

mod element;
mod namespace;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use element::Element;
pub use namespace::Namespace;
pub(crate) use read::is_ncname as is_name;
pub use read::{Limits, XmlError};
pub use write::Writer;
