//! [`Filter`]: a condition on calendar objects.
//!
//! ```
//! use etui::calendar::{Field, Filter, MatchMode};
//! use etui::calendar::ics::ComponentKind;
//!
//! let text: Filter = r#"kind:todo (title:pay* or place:"City Hall") -category:done"#.parse()?;
//! let code = Filter::kind(ComponentKind::Todo)
//!     .and(
//!         Filter::text(Field::Title, MatchMode::Prefix, "pay")
//!             .or(Filter::text(Field::Place, MatchMode::Words, "City Hall")),
//!     )
//!     .and(Filter::text(Field::Category, MatchMode::Words, "done").not());
//! assert_eq!(text, code);
//! # Ok::<(), etui::search::filter::FilterError>(())
//! ```

use super::Status;
use super::ics::ComponentKind;
use super::index_columns::name_of;
use crate::record::keys::Key;
use crate::search::filter::{self, FieldSet, KeySet, MatchMode, Matcher, NumberRange};
use etui_text::phone::{MatchType, Region};

/// A condition on calendar objects. Built by the functions below, or parsed from text
/// ([`str::parse`]).
pub type Filter = filter::Filter<Field>;

/// A field that filters compare: its value in any component of a calendar object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Titles, places and notes.
    Any,
    /// Titles (`SUMMARY`).
    Title,
    /// Places (`LOCATION`).
    Place,
    /// Notes (`DESCRIPTION`).
    Notes,
    /// Categories.
    Category,
    /// The kind: `event`, `todo` or `journal`.
    Kind,
    /// The status (`STATUS`): `tentative`, `confirmed`, `cancelled`, `needs-action`, `in-process`,
    /// `completed`, `draft` or `final`.
    Status,
    /// The day on which a to-do is due (`DUE`), in its own time zone: `2026-12-24`, `2026-12`, `2026`,
    /// or a range of them.
    Due,
}

impl Field {
    /// Every field with its names in the text form; of several the first is written.
    pub const NAMES: &'static [(&'static str, Field)] = &[
        ("any", Field::Any),
        ("summary", Field::Title),
        ("title", Field::Title),
        ("place", Field::Place),
        ("location", Field::Place),
        ("notes", Field::Notes),
        ("description", Field::Notes),
        ("category", Field::Category),
        ("label", Field::Category),
        ("kind", Field::Kind),
        ("status", Field::Status),
        ("due", Field::Due),
    ];
}

impl FieldSet for Field {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
    const ANY: Self = Self::Any;
    const PHONES: &'static [(&'static str, Self, MatchType)] = &[];
    const KEYS: &'static [(Key, Self)] = &[
        (Key::Title, Self::Title),
        (Key::Place, Self::Place),
        (Key::Description, Self::Notes),
        (Key::Category, Self::Category),
        (Key::Component, Self::Kind),
        (Key::Status, Self::Status),
        (Key::Due, Self::Due),
    ];

    fn values(self) -> &'static [&'static str] {
        match self {
            Self::Kind => &["event", "todo", "journal"],
            Self::Status => &[
                "tentative",
                "confirmed",
                "cancelled",
                "needs-action",
                "in-process",
                "completed",
                "draft",
                "final",
            ],
            _ => &[],
        }
    }

    fn refuse_text(self, mode: MatchMode, text: &str) -> Option<String> {
        let is_range = || {
            matches!(mode, MatchMode::Words | MatchMode::Whole)
                && NumberRange::of_days(text).is_some()
        };
        (self == Self::Due && !is_range()).then(|| {
            format!(
                "\"{text}\" is no date; write 2026-12-24, 2026-12, <2026-12-24, 2026-12..2027-01"
            )
        })
    }

    fn keys(self) -> KeySet {
        match self {
            Self::Any => KeySet::of(Key::Title)
                .with(Key::Place)
                .with(Key::Description),
            field => KeySet::of_field(field),
        }
    }

    fn compare(self, mode: MatchMode, text: &str, _: Option<Region>) -> Matcher {
        match self {
            // Titles and locations have trigrams, notes do not.
            Self::Any => {
                let short = Self::Title.keys().with(Key::Place);
                Matcher::Or(vec![
                    Matcher::match_words(short, mode, text),
                    Matcher::match_words(Self::Notes.keys(), mode, text),
                ])
            }
            Self::Due => Matcher::match_number(Key::Due, NumberRange::of_days(text)),
            _ => Matcher::match_words(self.keys(), mode, text),
        }
    }
}

impl Filter {
    /// The status is this one.
    pub fn status(status: Status) -> Self {
        Self::text(
            Field::Status,
            MatchMode::Words,
            status.name().to_ascii_lowercase(),
        )
    }

    /// The object is of this kind.
    pub fn kind(kind: ComponentKind) -> Self {
        Self::text(Field::Kind, MatchMode::Words, name_of(kind))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_status_has_its_name() {
        for ((name, status), value) in std::iter::zip(Status::ALL, Field::Status.values()) {
            assert_eq!(name.to_ascii_lowercase(), *value);
            let text = format!("status:{}", name.to_ascii_lowercase());
            assert_eq!(text.parse(), Ok(Filter::status(status)));
        }
        assert_eq!(Status::ALL.len(), Field::Status.values().len());
    }

    #[test]
    fn due_days_are_ranges() {
        for good in ["2026", "2026-12", "<2026-12-24", "2026-12..2027-01", "*"] {
            assert!(format!("due:{good}").parse::<Filter>().is_ok(), "{good}");
        }
        assert_eq!(
            "due:soon".parse::<Filter>().unwrap_err().to_string(),
            "in the filter, at character 5: \"soon\" is no date; write 2026-12-24, 2026-12, \
             <2026-12-24, 2026-12..2027-01"
        );
    }

    #[test]
    fn a_kind_is_one_of_three() {
        let told = |text: &str| text.parse::<Filter>().map_err(|e| e.to_string());
        let kinds = [
            ComponentKind::Event,
            ComponentKind::Todo,
            ComponentKind::Journal,
        ];
        for (kind, name) in std::iter::zip(kinds, Field::Kind.values()) {
            assert_eq!(*name, name_of(kind));
            assert_eq!(told(&format!("KIND:{name}")), Ok(Filter::kind(kind)));
        }
        assert!(told("kind=Event").is_ok() && told("kind:ev*").is_ok());
        assert_eq!(
            told("fair kind:task").unwrap_err(),
            "in the filter, at character 11: there is no kind \"task\"; there are event, todo, \
             journal"
        );
    }
}
