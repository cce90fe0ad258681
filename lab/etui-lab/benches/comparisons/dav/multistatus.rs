//! [`Multistatus`]: the answer to PROPFIND and REPORT (RFC 4918 section 13), as far as the experiment
//! compares it.

use percent_encoding::percent_decode_str;
use quick_xml::Reader;
use quick_xml::events::Event;

use etui_lab::Error;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedResource {
    /// The path, percent-decoded.
    pub path: String,
    /// Of the resource itself, not of its properties: 404 if it is gone.
    pub status: Option<u16>,
    pub etag: Option<String>,
    /// `calendar-data` or `address-data`.
    pub text: Option<String>,
}

impl ListedResource {
    /// Returns the last segment of the path; `None` for a collection.
    pub fn name(&self) -> Option<&str> {
        let (_, name) = self.path.rsplit_once('/')?;
        (!name.is_empty()).then_some(name)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Multistatus {
    pub resources: Vec<ListedResource>,
    pub sync_token: Option<String>,
}

impl Multistatus {
    /// Parses it. Elements are found by their local names: no two namespaces have equal ones here.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let malformed = |e: &dyn std::fmt::Display| Error::other(format!("an answer's XML: {e}"));
        let body = std::str::from_utf8(body).map_err(|e| malformed(&e))?;
        let mut reader = Reader::from_str(body);
        let mut answer = Self::default();
        let mut open: Vec<String> = Vec::new();
        let mut text = String::new();
        loop {
            match reader.read_event().map_err(|e| malformed(&e))? {
                Event::Start(tag) => {
                    let name = tag.local_name().as_ref().to_owned();
                    if name == "response" {
                        answer.resources.push(ListedResource::default());
                    }
                    open.push(name);
                    text.clear();
                }
                Event::End(_) => {
                    answer.end_element(&open, &text);
                    open.pop();
                    text.clear();
                }
                Event::Text(part) => text.push_str(&part),
                Event::CData(part) => text.push_str(&part),
                Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                    Ok(Some(character)) => text.push(character),
                    _ => text.push_str(named_entity(&reference)),
                },
                Event::Eof => return Ok(answer),
                _ => {}
            }
        }
    }

    fn end_element(&mut self, open: &[String], text: &str) {
        let [.., parent, name] = open else {
            return;
        };
        match (parent.as_str(), name.as_str()) {
            ("multistatus", "sync-token") => self.sync_token = Some(text.trim().to_owned()),
            ("response", "href") => {
                let path = percent_decode_str(text.trim()).decode_utf8_lossy();
                self.edit_last(|resource| resource.path = path.into_owned());
            }
            ("response", "status") => {
                let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
                self.edit_last(|resource| resource.status = status);
            }
            ("prop", "getetag") if !text.is_empty() => {
                self.edit_last(|resource| resource.etag = Some(text.trim().to_owned()));
            }
            ("prop", "calendar-data" | "address-data") if !text.is_empty() => {
                self.edit_last(|resource| resource.text = Some(text.to_owned()));
            }
            _ => {}
        }
    }

    fn edit_last(&mut self, edit: impl FnOnce(&mut ListedResource)) {
        if let Some(resource) = self.resources.last_mut() {
            edit(resource);
        }
    }
}

/// The entities that XML itself defines.
fn named_entity(name: &str) -> &'static str {
    match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn paths_tags_texts_and_token_are_read() {
        let body = "<?xml version=\"1.0\"?>\n<D:multistatus xmlns:D=\"DAV:\" xmlns:C=\"urn:x\">\
            <D:response><D:href>/b/</D:href><D:propstat><D:prop><D:getetag/></D:prop>\
            <D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>\
            <D:response><D:href>/b/a%20b.vcf</D:href><D:propstat><D:prop><D:getetag>&quot;1&quot;</D:getetag>\
            <C:address-data>FN:A &amp; B&#13;\n</C:address-data></D:prop>\
            <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\
            <D:response><D:href>/b/c.vcf</D:href><D:status>HTTP/1.1 404 Not Found</D:status></D:response>\
            <D:response><D:href>/b/d.vcf</D:href><D:propstat><D:prop>\
            <C:address-data><![CDATA[FN:<D>]]></C:address-data></D:prop></D:propstat></D:response>\
            <D:sync-token>urn:7</D:sync-token></D:multistatus>";
        let answer = Multistatus::parse(body.as_bytes()).unwrap();
        let names: Vec<_> = answer.resources.iter().map(|one| one.name()).collect();
        assert_eq!(names, [None, Some("a b.vcf"), Some("c.vcf"), Some("d.vcf")]);
        let resource = |at: usize| answer.resources.get(at).unwrap();
        assert_eq!(resource(0).etag, None);
        assert_eq!(resource(0).status, None);
        assert_eq!(resource(1).etag.as_deref(), Some("\"1\""));
        assert_eq!(resource(1).text.as_deref(), Some("FN:A & B\r\n"));
        assert_eq!(resource(2).status, Some(404));
        assert_eq!(resource(3).text.as_deref(), Some("FN:<D>"));
        assert_eq!(answer.sync_token.as_deref(), Some("urn:7"));
        assert!(Multistatus::parse(b"<a></b>").is_err());
    }
}
