//! The list of contacts to look around in.

use etui::contacts::{Card, Contact, Contacts, Summary};

use super::show::described;
use crate::commands::records::details::RecordDetails;
use crate::commands::records::pager::{GAP, ListLandmark, PagedRecord};
use crate::errors::Result;
use crate::output::OutputWriter;

/// Columns of a phone number.
const PHONE: usize = 18;

impl PagedRecord for Card {
    const NONE: &'static str = "No contacts.";
    const NONE_FOUND: &'static str = "Nobody is found.";
    const JUMP: &'static str = "Ctrl-G M: go to M";

    fn cells(s: &Summary, _: &OutputWriter) -> Vec<String> {
        [&s.name, &s.organization, &s.phone, &s.email]
            .map(Clone::clone)
            .into()
    }

    fn layout(cells: &[String], room: usize) -> Vec<(&str, usize)> {
        let cell = |n: usize| cells.get(n).map_or("", String::as_str);
        let name = match cell(0) {
            "" => "(no name)",
            name => name,
        };
        let (organization, phone, email) = (cell(1), cell(2), cell(3));
        let shared = |gaps: usize| room.saturating_sub(PHONE + gaps * GAP);
        match room {
            0..38 => vec![(name, room)],
            38..72 => vec![(name, shared(1)), (phone, PHONE)],
            72..96 => {
                let width = (shared(2) * 2 / 5).max(22);
                vec![(name, width), (phone, PHONE), (email, shared(2) - width)]
            }
            _ => {
                let width = (shared(3) * 3 / 10).min(40);
                vec![
                    (name, width),
                    (organization, width),
                    (phone, PHONE),
                    (email, shared(3) - 2 * width),
                ]
            }
        }
    }

    fn landmarks(book: &Contacts<'_>, _: &OutputWriter) -> Result<Vec<ListLandmark>> {
        let letters = book.letters()?.into_iter().map(|letter| ListLandmark {
            label: letter.label,
            position: letter.position,
        });
        Ok(letters.collect())
    }

    fn opening(_: &Contacts<'_>, _: &OutputWriter) -> Result<u64> {
        Ok(0)
    }

    fn about(
        _: &Contacts<'_>,
        contact: &Contact,
        _: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String> {
        described(contact)
    }
}
