//! [`Element`]: an element of a document, with all that is in it.

use std::io::BufRead;

use super::namespace::Namespace;
use super::read::{self, Limits, XmlError};

/// An element with its attributes, text and children. Comments and processing instructions are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Its namespace.
    pub ns: Namespace,
    /// Its name in the namespace.
    pub name: String,
    /// Its attributes without namespace declarations, by name: `version`, `xml:lang`, or `{URI}local` for one of
    /// another namespace.
    pub attributes: Vec<(String, String)>,
    /// Its children, in their order.
    pub children: Vec<Element>,
    /// Its text, up to the first child: all of it in an element without children.
    pub text: String,
    /// The text between this element and its next sibling, or the end of its parent.
    pub tail: String,
}

impl Element {
    /// Returns an element without content.
    #[must_use]
    pub fn new(ns: Namespace, name: impl Into<String>) -> Self {
        Self {
            ns,
            name: name.into(),
            attributes: Vec::new(),
            children: Vec::new(),
            text: String::new(),
            tail: String::new(),
        }
    }

    /// Parses a document in UTF-8 and returns its root.
    ///
    /// # Errors
    /// [`XmlError`], with the position in bytes: the text is not well-formed, has a DOCTYPE or an
    /// unknown entity, or is beyond one of `limits`.
    pub fn parse(document: &[u8], limits: &Limits) -> Result<Self, XmlError> {
        read::parse(document, limits)
    }

    /// Reads a document in UTF-8 as it comes, and passes on each child of its root when it is complete. Returns the
    /// root without them. Of the limits, those of elements and attributes are for one child.
    ///
    /// # Errors
    /// As [`Element::parse`]; [`XmlError::Stream`]. Children that were complete before are passed on.
    pub fn parse_children(
        document: impl BufRead,
        limits: &Limits,
        on_child: &mut dyn FnMut(Self),
    ) -> Result<Self, XmlError> {
        read::parse_children(document, limits, on_child)
    }

    /// Returns true if the element has this name in this namespace.
    #[must_use]
    pub fn is(&self, ns: &Namespace, name: &str) -> bool {
        self.name == name && self.ns == *ns
    }

    /// Returns the first child of this name.
    #[must_use]
    pub fn child(&self, ns: &Namespace, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.is(ns, name))
    }

    /// Returns the children of this name.
    pub fn children_named<'e>(
        &'e self,
        ns: &'e Namespace,
        name: &'e str,
    ) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.is(ns, name))
    }

    /// Returns the value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value.as_str())
    }
}
