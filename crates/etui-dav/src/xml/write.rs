//! [`Writer`]: XML as a stream.

use std::borrow::Cow;
use std::io;

use super::element::Element;
use super::namespace::Namespace;

/// The bytes that are collected before they are passed on.
const BUFFER: usize = 16 * 1024;

/// Writes XML to a stream.
///
/// The namespaces of WebDAV have fixed prefixes (`d`, `c`, `card`, `cs`, `ic`), which the first
/// element declares; any other namespace is declared on the element that has it. Texts are escaped; a carriage
/// return is written as `&#13;`, because a parser would read a line end of iCalendar or vCard as a
/// single line feed otherwise. Characters that XML 1.0 has no notation for become U+FFFD.
///
/// Call [`Writer::finish`] at the end: the writer has a buffer.
pub struct Writer<'w> {
    out: &'w mut dyn io::Write,
    buffer: Vec<u8>,
    /// The qualified names of the open elements, each after the other.
    open_names: String,
    /// The length of `open_names` at the start of each open element.
    open: Vec<usize>,
    has_root: bool,
}

impl<'w> Writer<'w> {
    /// Returns a writer that has written nothing.
    pub fn new(out: &'w mut dyn io::Write) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(BUFFER + 1024),
            open_names: String::new(),
            open: Vec::new(),
            has_root: false,
        }
    }

    /// Writes the XML declaration.
    ///
    /// # Errors
    /// Those of the stream, as for all calls of a writer.
    pub fn declaration(&mut self) -> io::Result<()> {
        self.push(b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n")
    }

    /// Opens an element.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn open(&mut self, ns: &Namespace, name: &str) -> io::Result<()> {
        self.open_with(ns, name, &[])
    }

    /// Opens an element with attributes of these names and values.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn open_with(
        &mut self,
        ns: &Namespace,
        name: &str,
        attributes: &[(&str, &str)],
    ) -> io::Result<()> {
        let start = self.open_names.len();
        self.tag(ns, name, attributes)?;
        self.open.push(start);
        self.push(b">")
    }

    /// Closes the element that was opened last.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn close(&mut self) -> io::Result<()> {
        if let Some(start) = self.open.pop() {
            self.buffer.extend_from_slice(b"</");
            self.buffer
                .extend_from_slice(&self.open_names.as_bytes()[start..]);
            self.open_names.truncate(start);
            self.push(b">")?;
        }
        Ok(())
    }

    /// Writes an element without content.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn empty(&mut self, ns: &Namespace, name: &str) -> io::Result<()> {
        self.empty_with(ns, name, &[])
    }

    /// Writes an element without content, with attributes.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn empty_with(
        &mut self,
        ns: &Namespace,
        name: &str,
        attributes: &[(&str, &str)],
    ) -> io::Result<()> {
        let start = self.open_names.len();
        self.tag(ns, name, attributes)?;
        self.open_names.truncate(start);
        self.push(b"/>")
    }

    /// Writes an element that has only text.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn leaf(&mut self, ns: &Namespace, name: &str, text: &str) -> io::Result<()> {
        self.open(ns, name)?;
        self.text(text)?;
        self.close()
    }

    /// Writes text.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        escape(&mut self.buffer, text, false);
        self.push(b"")
    }

    /// Writes the text in `bytes`; invalid UTF-8 becomes U+FFFD.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn text_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.text(&String::from_utf8_lossy(bytes))
    }

    /// Writes an element with all that is in it, without its tail.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn element(&mut self, element: &Element) -> io::Result<()> {
        let attributes: Vec<(&str, &str)> = element
            .attributes
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        if element.children.is_empty() && element.text.is_empty() {
            return self.empty_with(&element.ns, &element.name, &attributes);
        }
        self.open_with(&element.ns, &element.name, &attributes)?;
        self.content(element)?;
        self.close()
    }

    /// Writes the content of an element: its text and its children with their tails.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn content(&mut self, element: &Element) -> io::Result<()> {
        self.text(&element.text)?;
        for child in &element.children {
            self.element(child)?;
            self.text(&child.tail)?;
        }
        Ok(())
    }

    /// Closes all open elements and writes the buffer.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn finish(mut self) -> io::Result<()> {
        while !self.open.is_empty() {
            self.close()?;
        }
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }

    /// Writes `<name attributes`, and adds the qualified name to `open_names`.
    fn tag(&mut self, ns: &Namespace, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
        let start = self.open_names.len();
        let declared = match (ns.prefix(), ns.uri()) {
            (Some(prefix), _) => {
                self.open_names.push_str(prefix);
                self.open_names.push(':');
                None
            }
            (None, "") => None,
            (None, uri) => {
                self.open_names.push_str("x:");
                Some(uri)
            }
        };
        self.open_names.push_str(name);
        self.buffer.push(b'<');
        self.buffer
            .extend_from_slice(&self.open_names.as_bytes()[start..]);
        if !self.has_root {
            self.has_root = true;
            for known in &Namespace::KNOWN {
                if let Some(prefix) = known.prefix() {
                    self.attribute(&format!("xmlns:{prefix}"), known.uri());
                }
            }
        }
        if let Some(uri) = declared {
            self.attribute("xmlns:x", uri);
        }
        for (index, (name, value)) in attributes.iter().enumerate() {
            match name
                .strip_prefix('{')
                .and_then(|rest| rest.rsplit_once('}'))
            {
                Some((uri, local)) => {
                    self.attribute(&format!("xmlns:a{index}"), uri);
                    self.attribute(&format!("a{index}:{local}"), value);
                }
                None => self.attribute(name, value),
            }
        }
        self.push(b"")
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.buffer.push(b' ');
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"=\"");
        escape(&mut self.buffer, value, true);
        self.buffer.push(b'"');
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Returns true if XML 1.0 has this character (section 2.2).
pub(super) fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Appends `text`, escaped.
fn escape(out: &mut Vec<u8>, text: &str, is_attribute: bool) {
    let bytes = text.as_bytes();
    let mut done = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let (replacement, length): (Cow<'static, str>, usize) = match byte {
            b'<' => ("&lt;".into(), 1),
            b'>' => ("&gt;".into(), 1),
            b'&' => ("&amp;".into(), 1),
            b'\r' => ("&#13;".into(), 1),
            b'"' if is_attribute => ("&quot;".into(), 1),
            b'\t' | b'\n' if is_attribute => (format!("&#{byte};").into(), 1),
            b'\t' | b'\n' => continue,
            0..=0x1f => ("\u{fffd}".into(), 1),
            // U+FFFE and U+FFFF.
            0xef if bytes[at..].starts_with(b"\xef\xbf\xbe")
                || bytes[at..].starts_with(b"\xef\xbf\xbf") =>
            {
                ("\u{fffd}".into(), 3)
            }
            _ => continue,
        };
        out.extend_from_slice(&bytes[done..at]);
        out.extend_from_slice(replacement.as_bytes());
        done = at + length;
    }
    out.extend_from_slice(&bytes[done..]);
}
