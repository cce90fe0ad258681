//! The list of contacts in the pager.

use etui::contacts::{Card, Contact, Contacts, Summary};

use super::show::contact_details;
use crate::commands::records::details::RecordDetails;
use crate::commands::records::pager::{COLUMN_GAP, ListLandmark, PagedRecord};
use crate::errors::Result;
use crate::output::OutputWriter;

/// Width of a phone number.
const PHONE_WIDTH: usize = 18;

impl PagedRecord for Card {
    const EMPTY_LIST: &'static str = "No contacts.";
    const NO_MATCH: &'static str = "No contact matches.";
    const LANDMARK_HINT: &'static str = "Ctrl-G M: go to M";

    fn cells(s: &Summary, _: &OutputWriter) -> Vec<String> {
        [&s.name, &s.organization, &s.phone, &s.email]
            .map(Clone::clone)
            .into()
    }

    fn layout_columns(cells: &[String], room: usize) -> Vec<(&str, usize)> {
        let cell = |n: usize| cells.get(n).map_or("", String::as_str);
        let name = match cell(0) {
            "" => "(no name)",
            name => name,
        };
        let (organization, phone, email) = (cell(1), cell(2), cell(3));
        let shared = |gaps: usize| room.saturating_sub(PHONE_WIDTH + gaps * COLUMN_GAP);
        match room {
            0..38 => vec![(name, room)],
            38..72 => vec![(name, shared(1)), (phone, PHONE_WIDTH)],
            72..96 => {
                let width = (shared(2) * 2 / 5).max(22);
                vec![
                    (name, width),
                    (phone, PHONE_WIDTH),
                    (email, shared(2) - width),
                ]
            }
            _ => {
                let width = (shared(3) * 3 / 10).min(40);
                vec![
                    (name, width),
                    (organization, width),
                    (phone, PHONE_WIDTH),
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

    fn opening_position(_: &Contacts<'_>, _: &OutputWriter) -> Result<u64> {
        Ok(0)
    }

    fn record_details(
        _: &Contacts<'_>,
        contact: &Contact,
        _: &OutputWriter,
    ) -> std::result::Result<RecordDetails, String> {
        contact_details(contact)
    }
}
