//! [`ContentLines`]: the iterator over the logical lines of a record.

use memchr::memchr;

use super::{
    ContentLine, LineJoiner, LineOffsets, LineRole, PhysicalLine, find_colon, physical_line,
};

/// An iterator over the logical lines of one record. Their spans cover the record without gap.
/// Empty lines are lines without a name.
#[derive(Debug)]
pub struct ContentLines<'a> {
    record: &'a [u8],
    text: Option<&'a str>,
    follow: LineJoiner,
    /// The first physical line of the next logical line, already followed:
    /// where it starts, where its text ends, where the next one starts.
    next: Option<(usize, usize, usize)>,
}

impl<'a> ContentLines<'a> {
    /// Iterates over the lines of `record`, in any charset that contains ASCII. UTF-16 is decoded
    /// first ([`repair_charset`](crate::charset::repair_charset)).
    pub fn new(record: &'a [u8]) -> Self {
        Self::of(record, None)
    }

    /// Iterates over the lines of a record that is text; its parts are not checked for UTF-8 again.
    pub fn of_text(record: &'a str) -> Self {
        Self::of(record.as_bytes(), Some(record))
    }

    fn of(record: &'a [u8], text: Option<&'a str>) -> Self {
        let mut lines = Self {
            record,
            text,
            follow: LineJoiner::default(),
            next: None,
        };
        lines.next = lines.read(0).map(|(next, _)| next);
        lines
    }

    fn read(&mut self, at: usize) -> Option<((usize, usize, usize), LineRole)> {
        let (end, next) = physical_line(self.record, at)?;
        let step = self
            .follow
            .accept_line(PhysicalLine::whole(&self.record[at..end]));
        Some(((at, end, next), step))
    }
}

impl<'a> Iterator for ContentLines<'a> {
    type Item = ContentLine<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (start, first_end, mut end) = self.next.take()?;
        let mut marks = self.follow.marks;
        let mut text_end = first_end;
        let mut is_folded = false;
        let mut traits = self.follow.traits;
        while let Some((line, step)) = self.read(end) {
            if step != LineRole::More {
                self.next = Some(line);
                break;
            }
            is_folded = true;
            if line.1 > line.0 {
                text_end = line.1;
                traits = self.follow.traits;
            }
            end = line.2;
        }

        let record = self.record;
        let text = &record[start..text_end];
        if first_end == start {
            marks = None;
        } else if marks.is_none() {
            let colon = find_colon(text, &mut false).or_else(|| memchr(b':', text));
            marks = colon.map(|colon| LineOffsets::before(text, colon));
        }
        let mut line = ContentLine {
            span: start..end,
            group: None,
            name: b"",
            params: start..start,
            value: start..text_end,
            record,
            text: self.text,
            label_end: start,
            is_folded,
            traits,
        };
        if let Some(LineOffsets {
            colon,
            name_end,
            dot,
        }) = marks
        {
            line.group = dot.map(|dot| &text[..dot]);
            line.name = &text[dot.map_or(0, |dot| dot + 1)..name_end];
            line.label_end = start + name_end;
            // Without parameters the name ends at the colon.
            line.params = start + (name_end + 1).min(colon)..start + colon;
            line.value = start + colon + 1..text_end;
        }
        Some(line)
    }
}
