//! Reading a document into a tree. The tokens come from quick-xml; namespaces, references and limits are here.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::element::Element;
use super::namespace::Namespace;
use super::write::is_xml_char;

/// The namespace of the prefix `xml`.
const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// Attributes and namespace declarations of one element.
const MAX_ATTRIBUTES: usize = 32;

/// Bytes of a namespace's URI.
const MAX_URI: usize = 1024;

/// Limits of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Its size in bytes.
    pub max_bytes: u64,
    /// The size in bytes of one child of the root, where a document is read as it comes.
    pub max_child_bytes: u64,
    /// The depth of its elements; that of the root is 1.
    pub max_depth: usize,
    /// The number of its elements.
    pub max_elements: usize,
    /// The number of the attributes and namespace declarations of all elements.
    pub max_attributes: usize,
}

/// 16 MiB, also of a child, a depth of 32, 100,000 elements, 100,000 attributes.
impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 16 * 1024 * 1024,
            max_child_bytes: 16 * 1024 * 1024,
            max_depth: 32,
            max_elements: 100_000,
            max_attributes: 100_000,
        }
    }
}

/// A document that is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// There is no element.
    #[error("the body is empty where XML is expected")]
    Empty,
    /// It is longer than [`Limits::max_bytes`].
    #[error("the XML is longer than {0} bytes")]
    TooLong(u64),
    /// Its elements are deeper than [`Limits::max_depth`].
    #[error("byte {at}: the XML is nested deeper than {limit} elements")]
    TooDeep {
        /// The position of the element.
        at: u64,
        /// The limit.
        limit: usize,
    },
    /// It has more elements than [`Limits::max_elements`] or attributes than [`Limits::max_attributes`], or an
    /// element with too many or too long parts.
    #[error("byte {at}: the XML has more than {limit} {of}")]
    TooMany {
        /// The position of the element.
        at: u64,
        /// The limit.
        limit: usize,
        /// The part that there are too many of.
        of: &'static str,
    },
    /// It has a document type declaration (RFC 4918 section 20.6).
    #[error("byte {0}: a DOCTYPE is not accepted")]
    Doctype(u64),
    /// It has a reference to an entity that XML itself does not define, or to a character that XML does not have.
    #[error("byte {at}: there is no entity &{name};")]
    Entity {
        /// The position of the reference.
        at: u64,
        /// The name.
        name: String,
    },
    /// It has another encoding than UTF-8.
    #[error("byte {0}: the XML is not in UTF-8")]
    Encoding(u64),
    /// Its stream cannot be read.
    #[error("the XML is cut off: {0}")]
    Stream(String),
    /// It is not well-formed.
    #[error("byte {at}: the XML is not well-formed: {detail}")]
    Malformed {
        /// The position.
        at: u64,
        /// The problem.
        detail: String,
    },
}

/// A declaration of a prefix, which holds for an element and all in it.
struct Declared {
    prefix: String,
    ns: Namespace,
}

/// An open element.
struct OpenElement {
    element: Element,
    /// The number of declarations outside it.
    outer: usize,
}

struct TreeReader<'l, 'f> {
    limits: &'l Limits,
    /// Takes the children of the root, which are then not part of it.
    on_child: Option<&'f mut dyn FnMut(Element)>,
    /// The number of children that were passed on.
    children: u64,
    declared: Vec<Declared>,
    open: Vec<OpenElement>,
    elements: usize,
    attributes: usize,
    root: Option<Element>,
}

pub(super) fn parse(document: &[u8], limits: &Limits) -> Result<Element, XmlError> {
    if document.len() as u64 > limits.max_bytes {
        return Err(XmlError::TooLong(limits.max_bytes));
    }
    let text = std::str::from_utf8(document)
        .map_err(|e| XmlError::Encoding(u64::try_from(e.valid_up_to()).unwrap_or(u64::MAX)))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::from_str(text);
    let mut tree = TreeReader::new(limits, None);
    loop {
        let at = reader.buffer_position();
        let event = reader.read_event().map_err(|e| read_error(e, at))?;
        if tree.take(event, at)? {
            return tree.root.ok_or(XmlError::Empty);
        }
    }
}

/// Reads a document as it comes: `on_child` is given each child of the root, which is returned without them. The
/// limits on elements and attributes are those of one child.
pub(super) fn parse_children(
    document: impl BufRead,
    limits: &Limits,
    on_child: &mut dyn FnMut(Element),
) -> Result<Element, XmlError> {
    let read = Rc::new(Cell::new(0));
    let counted = CountedReader {
        inner: document,
        read: Rc::clone(&read),
        // A token is buffered whole, so the reader stops within it.
        most: limits.max_child_bytes.saturating_add(READ_AHEAD),
    };
    let mut reader = Reader::from_reader(counted);
    let mut tree = TreeReader::new(limits, Some(on_child));
    let mut buffer = Vec::new();
    let mut children = 0;
    loop {
        let at = reader.buffer_position();
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        if reader.buffer_position() > limits.max_bytes {
            return Err(XmlError::TooLong(limits.max_bytes));
        }
        if read.get() > limits.max_child_bytes {
            return Err(XmlError::TooLong(limits.max_child_bytes));
        }
        if tree.take(event.map_err(|e| read_error(e, at))?, at)? {
            return tree.root.ok_or(XmlError::Empty);
        }
        if tree.children > children {
            children = tree.children;
            read.set(0);
        }
    }
}

/// Bytes that a reader may take at once beyond the limit of a child.
const READ_AHEAD: u64 = 64 * 1024;

/// Counts the bytes that are consumed, and fails beyond a number of them.
struct CountedReader<R> {
    inner: R,
    read: Rc<Cell<u64>>,
    most: u64,
}

impl<R: BufRead> Read for CountedReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let found = self.fill_buf()?;
        let count = found.len().min(out.len());
        out[..count].copy_from_slice(&found[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for CountedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.read.get() > self.most {
            true => Err(io::Error::other("it is too long")),
            false => self.inner.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        self.read.set(self.read.get().saturating_add(count as u64));
        self.inner.consume(count);
    }
}

fn read_error(error: quick_xml::Error, at: u64) -> XmlError {
    match error {
        quick_xml::Error::Io(error) => XmlError::Stream(error.to_string()),
        quick_xml::Error::Encoding(_) => XmlError::Encoding(at),
        other => XmlError::Malformed {
            at,
            detail: other.to_string(),
        },
    }
}

impl<'l, 'f> TreeReader<'l, 'f> {
    fn new(limits: &'l Limits, on_child: Option<&'f mut dyn FnMut(Element)>) -> Self {
        Self {
            limits,
            on_child,
            children: 0,
            declared: Vec::new(),
            open: Vec::new(),
            elements: 0,
            attributes: 0,
            root: None,
        }
    }
}

impl TreeReader<'_, '_> {
    /// Takes the next token; returns true at the end of the document.
    fn take(&mut self, event: Event<'_>, at: u64) -> Result<bool, XmlError> {
        match event {
            Event::Start(tag) => self.start(&tag, at)?,
            Event::Empty(tag) => {
                self.start(&tag, at)?;
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(&text, at)?,
            Event::CData(text) => self.text(&text, at)?,
            Event::GeneralRef(name) => {
                let c = resolve_reference(&name, at)?;
                self.push(c.encode_utf8(&mut [0; 4]), at)?;
            }
            Event::Decl(declaration) => {
                if let Some(Ok(encoding)) = declaration.encoding() {
                    let is_known = encoding.eq_ignore_ascii_case("utf-8")
                        || encoding.eq_ignore_ascii_case("us-ascii");
                    if !is_known {
                        return Err(XmlError::Encoding(at));
                    }
                }
            }
            Event::DocType(_) => return Err(XmlError::Doctype(at)),
            Event::Comment(_) | Event::PI(_) => {}
            Event::Eof if self.open.is_empty() => return Ok(true),
            Event::Eof => {
                let detail = "it ends within an element".into();
                return Err(XmlError::Malformed { at, detail });
            }
        }
        Ok(false)
    }

    fn start(&mut self, tag: &BytesStart<'_>, at: u64) -> Result<(), XmlError> {
        if self.open.is_empty() && self.root.is_some() {
            let detail = "there is more than one root element".into();
            return Err(XmlError::Malformed { at, detail });
        }
        if self.open.len() >= self.limits.max_depth {
            let limit = self.limits.max_depth;
            return Err(XmlError::TooDeep { at, limit });
        }
        self.elements += 1;
        if self.elements > self.limits.max_elements {
            return Err(XmlError::TooMany {
                at,
                limit: self.limits.max_elements,
                of: "elements",
            });
        }
        let outer = self.declared.len();
        let attributes = self.declare(tag, at)?;
        let name = tag.name().into_inner();
        let (prefix, local) = split_name(name, at)?;
        let mut element = Element::new(self.namespace(prefix, at)?, local);
        for (name, value) in attributes {
            let (prefix, local) = split_name(name, at)?;
            let name = match prefix {
                "" => local.to_owned(),
                "xml" => name.to_owned(),
                prefix => format!("{{{}}}{local}", self.namespace(prefix, at)?),
            };
            if element.attribute(&name).is_some() {
                let detail = format!("the attribute {name} occurs twice");
                return Err(XmlError::Malformed { at, detail });
            }
            element.attributes.push((name, value));
        }
        self.open.push(OpenElement { element, outer });
        Ok(())
    }

    /// Declares the prefixes of an element; returns its other attributes.
    fn declare<'t>(
        &mut self,
        tag: &'t BytesStart<'_>,
        at: u64,
    ) -> Result<Vec<(&'t str, String)>, XmlError> {
        let mut others = Vec::new();
        // quick-xml's own check for duplicates compares each with each.
        for (index, attribute) in tag.attributes().with_checks(false).enumerate() {
            if index >= MAX_ATTRIBUTES {
                return Err(XmlError::TooMany {
                    at,
                    limit: MAX_ATTRIBUTES,
                    of: "attributes in one element",
                });
            }
            self.attributes += 1;
            if self.attributes > self.limits.max_attributes {
                return Err(XmlError::TooMany {
                    at,
                    limit: self.limits.max_attributes,
                    of: "attributes",
                });
            }
            let attribute = attribute.map_err(|e| XmlError::Malformed {
                at,
                detail: e.to_string(),
            })?;
            let name = attribute.key.into_inner();
            let value = attribute_value(&attribute.value, at)?;
            let prefix = match name.strip_prefix("xmlns:") {
                Some(prefix) => prefix,
                None if name == "xmlns" => "",
                None => {
                    others.push((name, value));
                    continue;
                }
            };
            if value.len() > MAX_URI {
                return Err(XmlError::TooMany {
                    at,
                    limit: MAX_URI,
                    of: "bytes in a namespace",
                });
            }
            let is_bad =
                prefix == "xml" || prefix == "xmlns" || (value.is_empty() && !prefix.is_empty());
            if is_bad {
                let detail = format!("the prefix {prefix} cannot be declared so");
                return Err(XmlError::Malformed { at, detail });
            }
            self.declared.push(Declared {
                prefix: prefix.to_owned(),
                ns: Namespace::of(&value),
            });
        }
        Ok(others)
    }

    fn namespace(&self, prefix: &str, at: u64) -> Result<Namespace, XmlError> {
        let found = self.declared.iter().rfind(|one| one.prefix == prefix);
        match (found, prefix) {
            (Some(found), _) => Ok(found.ns.clone()),
            (None, "") => Ok(Namespace::Other(Arc::from(""))),
            (None, "xml") => Ok(Namespace::of(XML_NAMESPACE)),
            (None, _) => Err(XmlError::Malformed {
                at,
                detail: format!("the prefix {prefix} is not declared"),
            }),
        }
    }

    fn end(&mut self) {
        let Some(OpenElement { element, outer }) = self.open.pop() else {
            return;
        };
        self.declared.truncate(outer);
        match (&mut self.on_child, self.open.as_mut_slice()) {
            (_, []) => self.root = Some(element),
            (Some(on_child), [_]) => {
                on_child(element);
                self.children += 1;
                (self.elements, self.attributes) = (1, 0);
            }
            (_, [.., parent]) => parent.element.children.push(element),
        }
    }

    /// Adds text as it is written in the document, whose line ends XML reads as line feeds.
    fn text(&mut self, text: &str, at: u64) -> Result<(), XmlError> {
        if text.contains('\r') {
            return self.push(&text.replace("\r\n", "\n").replace('\r', "\n"), at);
        }
        self.push(text, at)
    }

    fn push(&mut self, text: &str, at: u64) -> Result<(), XmlError> {
        if let Some(c) = text.chars().find(|c| !is_xml_char(*c)) {
            let detail = format!("the character U+{:04X} is not allowed", u32::from(c));
            return Err(XmlError::Malformed { at, detail });
        }
        let is_between = self.on_child.is_some() && self.open.len() == 1;
        let Some(OpenElement { element, .. }) = self.open.last_mut() else {
            return match text.trim_ascii().is_empty() {
                true => Ok(()),
                false => Err(XmlError::Malformed {
                    at,
                    detail: "there is text outside the root element".into(),
                }),
            };
        };
        match element.children.last_mut() {
            // What is between the children of a stream is not kept.
            _ if is_between => {}
            Some(child) => child.tail.push_str(text),
            None => element.text.push_str(text),
        }
        Ok(())
    }
}

/// Returns the value of an attribute: references resolved, blanks normalised (XML 1.0 section 3.3.3).
fn attribute_value(raw: &str, at: u64) -> Result<String, XmlError> {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(start) = rest.find('&') {
        value.push_str(
            &rest[..start]
                .replace("\r\n", " ")
                .replace(['\t', '\n', '\r'], " "),
        );
        let Range { start, end } = match rest[start..].find(';') {
            Some(length) => start + 1..start + length,
            None => {
                let detail = "an & is not escaped".into();
                return Err(XmlError::Malformed { at, detail });
            }
        };
        value.push(resolve_reference(&rest[start..end], at)?);
        rest = &rest[end + 1..];
    }
    value.push_str(&rest.replace("\r\n", " ").replace(['\t', '\n', '\r'], " "));
    match value.chars().all(is_xml_char) && !rest.contains('<') {
        true => Ok(value),
        false => Err(XmlError::Malformed {
            at,
            detail: "an attribute has a character that is not allowed".into(),
        }),
    }
}

/// Returns the character of `&name;`.
fn resolve_reference(name: &str, at: u64) -> Result<char, XmlError> {
    let number = |digits: &str, radix| match digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => u32::from_str_radix(digits, radix).ok(),
        false => None,
    };
    let found = match name.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix('x') {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        }
        .and_then(char::from_u32)
        .filter(|c| is_xml_char(*c)),
        None => match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "apos" => Some('\''),
            "quot" => Some('"'),
            _ => None,
        },
    };
    found.ok_or_else(|| XmlError::Entity {
        at,
        name: name.chars().take(40).collect(),
    })
}

/// Splits a qualified name into prefix, which may be empty, and local part.
fn split_name(name: &str, at: u64) -> Result<(&str, &str), XmlError> {
    let (prefix, local) = match name.split_once(':') {
        Some((prefix, local)) if is_ncname(prefix) => (prefix, local),
        Some(_) => ("", ""),
        None => ("", name),
    };
    match is_ncname(local) {
        true => Ok((prefix, local)),
        false => Err(XmlError::Malformed {
            at,
            detail: format!("bad name {:?}", name.chars().take(40).collect::<String>()),
        }),
    }
}

/// Returns true for a name without colon (Namespaces in XML 1.0, production 4).
pub(crate) fn is_ncname(name: &str) -> bool {
    let is_start = |c: char| {
        c.is_ascii_alphabetic()
            || c == '_'
            || matches!(c, '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
                | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}'
                | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
                | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
    };
    let is_later = |c: char| {
        is_start(c)
            || c.is_ascii_digit()
            || matches!(c, '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
    };
    let mut chars = name.chars();
    chars.next().is_some_and(is_start) && chars.all(is_later)
}
