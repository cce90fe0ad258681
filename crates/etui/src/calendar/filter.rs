//! [`Filter`]: a condition on calendar objects.
//!
//! ```
//! use etui::calendar::Filter;
//! use etui::calendar::ics::ComponentKind;
//!
//! let text: Filter = r#"kind:todo (title:pay* or place:"City Hall") -category:done"#.parse()?;
//! let code = Filter::kind(ComponentKind::Todo)
//!     .and(Filter::title_prefix("pay").or(Filter::place("City Hall")))
//!     .and(Filter::category("done").not());
//! assert_eq!(text, code);
//! # Ok::<(), etui::search::filter::FilterError>(())
//! ```

use super::ics::ComponentKind;
use super::index_columns::name_of;
use crate::record::keys::Key;
use crate::search::filter::{self, FieldSet, KeySet, MatchMode, Matcher};
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
        ("kind", Field::Kind),
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
    ];

    fn values(self) -> &'static [&'static str] {
        match self {
            Self::Kind => &["event", "todo", "journal"],
            _ => &[],
        }
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
            _ => Matcher::match_words(self.keys(), mode, text),
        }
    }
}

impl Filter {
    /// A title has these words.
    pub fn title(words: impl Into<String>) -> Self {
        Self::text(Field::Title, MatchMode::Words, words)
    }

    /// A word of a title starts with `start`.
    pub fn title_prefix(start: impl Into<String>) -> Self {
        Self::text(Field::Title, MatchMode::Prefix, start)
    }

    /// A place has these words.
    pub fn place(words: impl Into<String>) -> Self {
        Self::text(Field::Place, MatchMode::Words, words)
    }

    /// A category has these words.
    pub fn category(words: impl Into<String>) -> Self {
        Self::text(Field::Category, MatchMode::Words, words)
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
