//! [`Description`]: titles, keywords, people and dates of XMP and IPTC.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::audio::clip;
use crate::limits::{MAX_VALUE, MAX_VALUES};

/// Words on a picture that a person or a program wrote, in XMP or IPTC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// Its title; empty if there is none.
    pub title: String,
    /// Its caption; empty if there is none.
    pub caption: String,
    /// Its keywords.
    pub keywords: Vec<String>,
    /// The people in it.
    pub people: Vec<String>,
    /// Stars, 1 to 5.
    pub rating: Option<u8>,
}

/// What XMP or IPTC say beside the description.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pub(crate) description: Description,
    /// The local time at which the picture was taken.
    pub(crate) taken: Option<String>,
    pub(crate) make: String,
    pub(crate) model: String,
}

impl Described {
    fn add(&mut self, namespace: &str, name: &str, text: &str) {
        let text = clip(text.trim(), MAX_VALUE);
        if text.is_empty() {
            return;
        }
        let said = &mut self.description;
        let first = |to: &mut String| {
            if to.is_empty() {
                text.clone_into(to);
            }
        };
        let list = |to: &mut Vec<String>| {
            if to.len() < MAX_VALUES && !to.iter().any(|known| known == text) {
                to.push(text.to_owned());
            }
        };
        match (namespace, name) {
            ("http://purl.org/dc/elements/1.1/", "title") => first(&mut said.title),
            ("http://purl.org/dc/elements/1.1/", "description") => first(&mut said.caption),
            ("http://purl.org/dc/elements/1.1/", "subject") => list(&mut said.keywords),
            (_, "PersonInImage" | "PersonDisplayName") => list(&mut said.people),
            ("http://ns.adobe.com/xap/1.0/", "Rating") => {
                // -1: rejected.
                let stars = text.parse::<f64>().ok().filter(|stars| *stars >= 1.0);
                said.rating = said.rating.or(stars.map(|stars| stars.min(5.0) as u8));
            }
            ("http://ns.adobe.com/tiff/1.0/", "Make") => first(&mut self.make),
            ("http://ns.adobe.com/tiff/1.0/", "Model") => first(&mut self.model),
            ("http://ns.adobe.com/exif/1.0/", "DateTimeOriginal") => {
                self.taken = local_time(text).or(self.taken.take());
            }
            ("http://ns.adobe.com/photoshop/1.0/", "DateCreated")
            | ("http://ns.adobe.com/xap/1.0/", "CreateDate") => {
                self.taken = self.taken.take().or_else(|| local_time(text));
            }
            _ => {}
        }
    }

    /// Adds what another block says that this one does not.
    pub(crate) fn fill_from(&mut self, other: Self) {
        let (mine, theirs) = (&mut self.description, other.description);
        for (to, from) in [
            (&mut mine.title, theirs.title),
            (&mut mine.caption, theirs.caption),
            (&mut self.make, other.make),
            (&mut self.model, other.model),
        ] {
            if to.is_empty() {
                *to = from;
            }
        }
        for (to, from) in [
            (&mut mine.keywords, theirs.keywords),
            (&mut mine.people, theirs.people),
        ] {
            let new: Vec<String> = from.into_iter().filter(|one| !to.contains(one)).collect();
            to.extend(new);
        }
        mine.rating = mine.rating.or(theirs.rating);
        self.taken = self.taken.take().or(other.taken);
    }
}

/// Returns the local time of an ISO 8601 date, without its offset: `2022-03-04T05:06:07`. A date
/// without a time is its midnight; one of a year or month is none.
pub(crate) fn local_time(text: &str) -> Option<String> {
    let text = text.trim();
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let numbers = |text: &str, separator: char| -> Option<Vec<u32>> {
        let parts = text.split(separator);
        parts.map(|part| part.parse::<u32>().ok()).collect()
    };
    let date = date.replace(':', "-");
    let [year, month, day] = *numbers(&date, '-')?.as_slice() else {
        return None;
    };
    let time = time.split(['+', '-', 'Z', '.']).next().unwrap_or_default();
    let time = numbers(time, ':').unwrap_or_default();
    let part = |at: usize| time.get(at).copied().unwrap_or(0);
    date_and_time([year, month, day], [part(0), part(1), part(2)])
}

/// Formats a date and a time; `None` if they are none.
pub(crate) fn date_and_time(
    [year, month, day]: [u32; 3],
    [hour, minute, second]: [u32; 3],
) -> Option<String> {
    let days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    // The oldest photograph is of 1826.
    let is_date =
        (1826..=9999).contains(&year) && (1..=12).contains(&month) && (1..=days).contains(&day);
    let is_time = hour < 24 && minute < 60 && second < 60;
    (is_date && is_time)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}

/// Reads an XMP packet. A damaged one is read up to the damage.
pub(crate) fn read_xmp(packet: &[u8]) -> Described {
    let mut described = Described::default();
    let text = String::from_utf8_lossy(packet);
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}').trim_end_matches('\0'));
    // Packets are small; a bound on the depth keeps the paths short.
    let mut path: Vec<Name> = Vec::new();
    let mut declared: Vec<(usize, String, String)> = Vec::new();
    let mut content = String::new();
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(tag) if path.len() < 64 => {
                declare(&tag, path.len(), &mut declared);
                add_attributes(&tag, &declared, &mut described);
                path.push(Name::of(tag.name().into_inner(), &declared));
                content.clear();
            }
            Event::Empty(tag) => {
                declare(&tag, path.len(), &mut declared);
                add_attributes(&tag, &declared, &mut described);
                declared.retain(|(depth, ..)| *depth < path.len());
            }
            Event::Text(text) => content.push_str(&text),
            Event::CData(text) => content.push_str(&text),
            Event::GeneralRef(name) => content.push_str(match &*name {
                "amp" => "&",
                "lt" => "<",
                "gt" => ">",
                "quot" => "\"",
                "apos" => "'",
                _ => " ",
            }),
            Event::End(_) => {
                // Items of lists belong to the property around the list.
                let is_structure =
                    |name: &&Name| matches!(&*name.local, "li" | "Alt" | "Bag" | "Seq");
                if let Some(property) = path.iter().rev().find(|name| !is_structure(name)) {
                    described.add(&property.namespace, &property.local, &content);
                }
                content.clear();
                path.pop();
                declared.retain(|(depth, ..)| *depth < path.len());
            }
            Event::Start(_) | Event::Eof => break,
            _ => {}
        }
    }
    described
}

/// The name of an element or attribute.
struct Name {
    namespace: String,
    local: String,
}

impl Name {
    fn of(name: &str, declared: &[(usize, String, String)]) -> Self {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let mut known = declared.iter().rev();
        let found = known.find(|(_, known, _)| known == prefix);
        Self {
            namespace: found.map_or_else(String::new, |(_, _, namespace)| namespace.clone()),
            local: local.to_owned(),
        }
    }
}

fn declare(tag: &BytesStart<'_>, depth: usize, declared: &mut Vec<(usize, String, String)>) {
    for attribute in tag.attributes().flatten() {
        // More are an attack: each name is looked for among them.
        if declared.len() < MAX_VALUES
            && let Some(prefix) = attribute.key.into_inner().strip_prefix("xmlns:")
        {
            declared.push((depth, prefix.to_owned(), attribute.value.to_string()));
        }
    }
}

/// Adds the properties that are written as attributes.
fn add_attributes(
    tag: &BytesStart<'_>,
    declared: &[(usize, String, String)],
    described: &mut Described,
) {
    let attributes: Vec<(Name, String)> = tag
        .attributes()
        .flatten()
        .map(|attribute| {
            let name = Name::of(attribute.key.into_inner(), declared);
            let value = quick_xml::escape::unescape(&attribute.value);
            (
                name,
                value.map_or_else(|_| attribute.value.to_string(), |value| value.into_owned()),
            )
        })
        .collect();
    for (name, value) in &attributes {
        described.add(&name.namespace, &name.local, value);
    }
    // A region of the Metadata Working Group: a face with a name.
    let value = |local: &str| {
        let found = attributes.iter().find(|(name, _)| name.local == local);
        found.map(|(_, value)| value.as_str())
    };
    if value("Type") == Some("Face")
        && let Some(name) = value("Name")
    {
        described.add("", "PersonInImage", name);
    }
}

/// Reads the records of IPTC (IIM 4.2, section 1.5): 0x1c, a record, a number, a length, a text.
pub(crate) fn read_iptc(mut records: &[u8]) -> Described {
    let mut described = Described::default();
    let (mut is_utf8, mut date, mut time) = (false, String::new(), String::new());
    while let [0x1c, record, number, high, low, rest @ ..] = records {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        // Lengths above 32,767 are of another form, which texts do not need.
        let Some((bytes, rest)) = rest.split_at_checked(len) else {
            break;
        };
        records = rest;
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if is_utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
        };
        match (record, number) {
            (1, 90) => is_utf8 = bytes == b"\x1b%G",
            (2, 5) => described.add("http://purl.org/dc/elements/1.1/", "title", &text),
            (2, 25) => described.add("http://purl.org/dc/elements/1.1/", "subject", &text),
            (2, 120) => described.add("http://purl.org/dc/elements/1.1/", "description", &text),
            (2, 55) => date = text,
            (2, 60) => time = text,
            _ => {}
        }
    }
    let number =
        |text: &str, from: usize, to: usize| text.get(from..to).and_then(|n| n.parse().ok());
    let day = || {
        Some([
            number(&date, 0, 4)?,
            number(&date, 4, 6)?,
            number(&date, 6, 8)?,
        ])
    };
    let clock = || {
        Some([
            number(&time, 0, 2)?,
            number(&time, 2, 4)?,
            number(&time, 4, 6)?,
        ])
    };
    described.taken = day().and_then(|day| date_and_time(day, clock().unwrap_or([0; 3])));
    described
}

/// Returns the local time in a file's name, as phones and messengers write it:
/// `IMG_20230708_123456`, `WhatsApp Image 2023-07-08 at 12.34.56`, `signal-2023-07-08-123456`. A date
/// without a time is its midnight.
pub fn date_in_name(name: &str) -> Option<String> {
    let bytes = name.as_bytes();
    let digits = |text: &[u8]| -> Option<u32> {
        let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(text)
            .ok()?
            .parse()
            .ok()
            .filter(|_| is_number)
    };
    // Three numbers, with one separator between them or none.
    let three = |at: usize, first: usize| -> Option<([u32; 3], usize)> {
        let second = at + first;
        let gap = usize::from(matches!(bytes.get(second), Some(b'-' | b'.' | b':' | b'_')));
        let third = second + gap + 2;
        if gap == 1 && bytes.get(third) != bytes.get(second) {
            return None;
        }
        let end = third + gap + 2;
        let numbers = [
            digits(bytes.get(at..second)?)?,
            digits(bytes.get(second + gap..third)?)?,
            digits(bytes.get(third + gap..end)?)?,
        ];
        Some((numbers, end))
    };
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    for at in 0..bytes.len() {
        // Amid a longer number, or a year that no phone knew.
        if at.checked_sub(1).is_some_and(is_digit) || !matches!(bytes.get(at), Some(b'1' | b'2')) {
            continue;
        }
        let Some((day, end)) = three(at, 4) else {
            continue;
        };
        if !(1990..=2099).contains(&day[0]) || date_and_time(day, [0; 3]).is_none() {
            continue;
        }
        let rest = name.get(end..).unwrap_or_default();
        let gap = [" at ", " um ", "_", "-", " ", "T", ""];
        let times = gap.iter().filter(|gap| rest.starts_with(**gap));
        let mut times = times.filter_map(|gap| three(end + gap.len(), 2));
        let time = times.find_map(|(time, _)| date_and_time(day, time));
        match time {
            Some(time) => return Some(time),
            // Eight digits amid a longer number are no date.
            None if is_digit(end) => continue,
            None => return date_and_time(day, [0; 3]),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_names() {
        for (name, expected) in [
            ("IMG_20230708_123456.jpg", "2023-07-08T12:34:56"),
            ("PXL_20230708_123456789.jpg", "2023-07-08T12:34:56"),
            ("VID_20230708_123456.mp4", "2023-07-08T12:34:56"),
            ("20230708_123456.jpg", "2023-07-08T12:34:56"),
            ("20230708123456.jpg", "2023-07-08T12:34:56"),
            (
                "WhatsApp Image 2023-07-08 at 12.34.56.jpeg",
                "2023-07-08T12:34:56",
            ),
            ("IMG-20230708-WA0001.jpg", "2023-07-08T00:00:00"),
            (
                "Screenshot_2023-07-08-12-34-56-99.png",
                "2023-07-08T12:34:56",
            ),
            (
                "Screenshot from 2023-07-08 12-34-56.png",
                "2023-07-08T12:34:56",
            ),
            ("signal-2023-07-08-123456.jpg", "2023-07-08T12:34:56"),
            ("signal-2023-07-08-12-34-56-789.jpg", "2023-07-08T12:34:56"),
            ("2023-07-08.jpg", "2023-07-08T00:00:00"),
            ("IMG_1234.jpg", ""),
            ("DSC20231408.jpg", ""),
            ("1234520230708.jpg", ""),
            ("20230230_101010.jpg", ""),
            ("photo 1600x1200.png", ""),
        ] {
            assert_eq!(date_in_name(name).unwrap_or_default(), expected, "{name}");
        }
    }

    #[test]
    fn xmp_of_several_writers() {
        let packet = br#"<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'>
          <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
          <rdf:Description xmlns:q='http://ns.adobe.com/xap/1.0/' xmlns:tiff='http://ns.adobe.com/tiff/1.0/'
            q:CreateDate='2022-03-04T05:06:07+02:00' q:Rating='4' tiff:Model='X'
            xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:r='http://www.metadataworkinggroup.com/schemas/regions/'>
          <dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li>A &amp; B</rdf:li></rdf:Bag></dc:subject>
          <dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Beach</rdf:li></rdf:Alt></dc:title>
          <r:Regions><rdf:li><rdf:Description r:Name='Ada' r:Type='Face'/></rdf:li></r:Regions>
          </rdf:Description></rdf:RDF></x:xmpmeta>"#;
        let read = read_xmp(packet);
        assert_eq!(read.taken.as_deref(), Some("2022-03-04T05:06:07"));
        assert_eq!(
            (read.description.rating, read.model.as_str()),
            (Some(4), "X")
        );
        assert_eq!(read.description.keywords, ["sea", "A & B"]);
        assert_eq!(read.description.people, ["Ada"]);
        assert_eq!(read.description.title, "Beach");
    }

    #[test]
    fn iptc_is_read() {
        let mut records = Vec::new();
        for (number, text) in [
            (5, "Beach"),
            (25, "sea"),
            (25, "sun"),
            (55, "20220304"),
            (60, "050607+0100"),
        ] {
            records.extend_from_slice(&[0x1c, 2, number, 0, text.len() as u8]);
            records.extend_from_slice(text.as_bytes());
        }
        let read = read_iptc(&records);
        assert_eq!(read.taken.as_deref(), Some("2022-03-04T05:06:07"));
        assert_eq!(read.description.keywords, ["sea", "sun"]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>, name: String) {
            let _ = (read_xmp(&bytes), read_iptc(&bytes), date_in_name(&name));
            let _ = crate::embedded::Embedded::of_bytes(&bytes).orientation();
        }
    }
}
