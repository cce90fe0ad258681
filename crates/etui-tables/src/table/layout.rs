//! [`Layout`]: the program that wrote a table, and the meaning of its columns.

use super::columns::{
    COMMON, CUSTOM_COLUMNS, GOOGLE, GOOGLE_NUMBERED, IGNORED, KnownColumn, LINKEDIN, OUTLOOK,
    THUNDERBIRD,
};
use super::headings::{Dialect, calendar_headings, column_key};
use super::{ColumnField, CsvError, CsvProgram};
use crate::label::Label;

/// The part of a value that a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Value,
    Component(usize),
    Label,
    Service,
    /// A whole address, beside its components.
    Formatted,
    Year,
    Month,
    Day,
}

/// A value of a contact, which one or several columns hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) property: String,
    pub(crate) number: u32,
    pub(crate) label: String,
    /// Types given with `--map`.
    pub(crate) types: Vec<String>,
}

/// The use of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnUse {
    /// A part of the value with this index.
    Part {
        slot: usize,
        part: Part,
    },
    Ignored,
    /// Kept as a field of the column's name.
    Kept {
        /// The program has the column for fields of the person's own, or for one of no property.
        is_custom: bool,
    },
}

/// The program that wrote a table, in its language.
#[derive(Debug, Clone, Copy)]
struct Origin {
    program: CsvProgram,
    /// `None` for English.
    dialect: Option<Dialect>,
}

impl Default for Origin {
    fn default() -> Self {
        Self {
            program: CsvProgram::Other,
            dialect: None,
        }
    }
}

impl Origin {
    /// Returns the number of columns with a known meaning, and of those that the program writes.
    fn count_known(self, keys: &[String]) -> (usize, usize) {
        let (mut known, mut own) = (0, 0);
        for key in keys {
            let translated = self.dialect.and_then(|d| d.english_heading(key, 0));
            let field = translated.or(Some(key.as_str()).filter(|_| self.dialect.is_none()));
            let is_own = field.is_some_and(|field| is_column(self.program, field));
            own += usize::from(is_own);
            let is_known = || translated.is_some() || self.find_field(key).is_some();
            known += usize::from(is_own || is_known());
        }
        (known, own)
    }

    /// Returns the English heading of a column, after a number of columns of the same name.
    fn english_heading(self, key: &str, earlier: usize) -> &str {
        let translated = self.dialect.and_then(|d| d.english_heading(key, earlier));
        translated.unwrap_or(key)
    }

    /// Returns the meaning of a column by its English heading.
    fn find_field(self, english: &str) -> Option<(Slot, Part)> {
        let own = find_column(self.program, english);
        own.or_else(|| find_column(CsvProgram::Other, english))
    }
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The name in lower-case, for comparison.
    pub(crate) key: String,
    /// The English heading of the column, in lower-case; the key, if it is not known.
    pub(crate) english: String,
    pub(crate) usage: ColumnUse,
}

/// The columns of a table and their meaning.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) program: CsvProgram,
    /// The headings are not English.
    pub(crate) is_translated: bool,
    pub(crate) columns: Vec<Column>,
    pub(crate) slots: Vec<Slot>,
    /// The number of columns with a known meaning.
    pub(crate) known: usize,
}

impl Layout {
    /// Recognizes the columns of a header. Columns that `map` names have the meaning given there.
    pub(crate) fn recognize(header: &[String], map: &[(String, ColumnField)]) -> Self {
        let keys: Vec<String> = header.iter().map(|name| column_key(name)).collect();
        let programs = [
            CsvProgram::Other,
            CsvProgram::Google,
            CsvProgram::Outlook,
            CsvProgram::Thunderbird,
            CsvProgram::LinkedIn,
        ];
        let english = programs.map(|program| Origin {
            program,
            dialect: None,
        });
        let mut dialects: Vec<Dialect> = keys
            .iter()
            .flat_map(|key| Dialect::with_heading(key))
            .filter(|dialect| dialect.program().is_some())
            .collect();
        dialects.sort_unstable();
        dialects.dedup();
        let others = dialects.into_iter().map(|dialect| Origin {
            program: dialect.program().unwrap_or(CsvProgram::Other),
            dialect: Some(dialect),
        });
        let mut best = (0, 0, Origin::default());
        for origin in english.into_iter().chain(others) {
            let (known, own) = origin.count_known(&keys);
            if (known, own) > (best.0, best.1) {
                best = (known, own, origin);
            }
        }
        Self::of_origin(best.2, header, &keys, map)
    }

    fn of_origin(
        origin: Origin,
        header: &[String],
        keys: &[String],
        map: &[(String, ColumnField)],
    ) -> Self {
        let mut layout = Self {
            program: origin.program,
            is_translated: origin.dialect.is_some(),
            columns: Vec::new(),
            slots: Vec::new(),
            known: 0,
        };
        let has = |heading| {
            let mut headings = keys.iter().map(|key| origin.english_heading(key, 0));
            headings.any(|known| known == heading)
        };
        // Beside a first name alone, `Name` is the family's.
        let is_family = origin.dialect.is_some() && has("first name") && !has("last name");
        for (name, key) in header.iter().zip(keys) {
            let key = key.clone();
            let earlier = layout.columns.iter().filter(|column| column.key == key);
            let mut english = origin.english_heading(&key, earlier.count()).to_owned();
            if is_family && english == "name" {
                "last name".clone_into(&mut english);
            }
            let mapped = map.iter().find(|(column, _)| column_key(column) == key);
            let usage = match mapped {
                Some((_, ColumnField::Ignored)) => ColumnUse::Ignored,
                Some((
                    _,
                    ColumnField::Property {
                        name,
                        types,
                        component,
                    },
                )) => {
                    let part = component.map_or(Part::Value, Part::Component);
                    let slot = Slot {
                        property: name.to_ascii_uppercase(),
                        // A second column of a whole value is a second value.
                        number: layout.next_number(name, types, *component),
                        label: String::new(),
                        types: types.clone(),
                    };
                    layout.part(slot, part)
                }
                None if IGNORED.contains(&english.as_str()) => ColumnUse::Ignored,
                None => match origin.find_field(&english) {
                    Some((slot, part)) => layout.further_part(slot, part),
                    None => ColumnUse::Kept {
                        is_custom: CUSTOM_COLUMNS.contains(&english.as_str()),
                    },
                },
            };
            layout.known += usize::from(!matches!(usage, ColumnUse::Kept { .. }));
            layout.columns.push(Column {
                name: name.trim().to_owned(),
                key,
                english,
                usage,
            });
        }
        layout
    }

    /// Returns the number of a new value of `--map`: components of one address share theirs.
    fn next_number(&self, property: &str, types: &[String], component: Option<usize>) -> u32 {
        const MAPPED: u32 = 1_000;
        let same = |slot: &&Slot| {
            slot.property.eq_ignore_ascii_case(property)
                && slot.types == types
                && slot.number >= MAPPED
        };
        match component {
            Some(_) => MAPPED,
            None => {
                let last = self.slots.iter().filter(same).map(|slot| slot.number).max();
                last.map_or(MAPPED + 1, |last| last + 1)
            }
        }
    }

    fn part(&mut self, slot: Slot, part: Part) -> ColumnUse {
        let known = self.slots.iter().position(|known| *known == slot);
        let slot = known.unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        });
        ColumnUse::Part { slot, part }
    }

    /// As [`Self::part`]; a second column of a whole value that a contact has several times is a
    /// further value.
    fn further_part(&mut self, mut slot: Slot, part: Part) -> ColumnUse {
        const SEVERAL: &[&str] = &[
            "EMAIL", "TEL", "URL", "NOTE", "TITLE", "ROLE", "IMPP", "RELATED",
        ];
        if part == Part::Value && SEVERAL.contains(&slot.property.as_str()) {
            let is_taken = |slot: &Slot| {
                let index = self.slots.iter().position(|known| known == slot);
                index.is_some_and(|slot| {
                    let taken = ColumnUse::Part { slot, part };
                    self.columns.iter().any(|column| column.usage == taken)
                })
            };
            while is_taken(&slot) {
                slot.number += 1;
            }
        }
        self.part(slot, part)
    }

    /// Checks that the columns of a map exist, and that enough columns are known.
    pub(crate) fn check(&self, line: u64, map: &[(String, ColumnField)]) -> Result<(), CsvError> {
        let names = || {
            let names = self.columns.iter().map(|column| column.name.clone());
            names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
        };
        let has = |key: &str| self.columns.iter().any(|column| column.key == key);
        if calendar_headings(self.columns.iter().map(|column| column.key.as_str())).is_some() {
            return Err(CsvError::Calendar);
        }
        if let Some((name, _)) = map.iter().find(|(name, _)| !has(&column_key(name))) {
            return Err(CsvError::NoColumn {
                name: name.clone(),
                columns: names(),
            });
        }
        // One known column may be chance.
        let enough = self.known >= 2 || !map.is_empty() || self.known == self.columns.len();
        match enough && self.known > 0 {
            true => Ok(()),
            false => Err(CsvError::UnknownColumns {
                line,
                columns: names(),
                guesses: Vec::new(),
            }),
        }
    }

    /// The label of a slot's values where no column has it.
    pub(crate) fn fixed_label(&self, slot: &Slot) -> Label {
        let mut label = Label::parse(&slot.label);
        label.types.extend(slot.types.iter().cloned());
        label
    }
}

/// Returns true if a program writes a column, by its English heading.
fn is_column(program: CsvProgram, english: &str) -> bool {
    find_column(program, english).is_some()
        || program != CsvProgram::Other && CUSTOM_COLUMNS.contains(&english)
        || program == CsvProgram::Outlook && IGNORED.contains(&english)
}

/// Returns the meaning of a column that a program writes.
fn find_column(program: CsvProgram, key: &str) -> Option<(Slot, Part)> {
    let table: &[KnownColumn] = match program {
        CsvProgram::Google => GOOGLE,
        CsvProgram::Outlook => OUTLOOK,
        CsvProgram::Thunderbird => THUNDERBIRD,
        CsvProgram::LinkedIn => LINKEDIN,
        CsvProgram::Other => COMMON,
    };
    let known = table.iter().find(|(name, ..)| *name == key);
    let slot = |property: &str, number: u32, label: &str| Slot {
        property: property.to_owned(),
        number,
        label: label.to_owned(),
        types: Vec::new(),
    };
    if let Some((_, property, number, part, label)) = known {
        return Some((slot(property, *number, label), *part));
    }
    if program != CsvProgram::Google {
        return None;
    }
    let (kind, part) = key.split_once(" - ")?;
    let (kind, number) = kind.rsplit_once(' ')?;
    let number: u32 = number.parse().ok().filter(|n| *n < 1_000)?;
    let mut of_kind = GOOGLE_NUMBERED.iter().filter(|(name, ..)| *name == kind);
    if matches!(part, "type" | "label") {
        let (_, _, property, _) = of_kind.next()?;
        return Some((slot(property, google_number(kind, number), ""), Part::Label));
    }
    let (_, _, property, part) = of_kind.find(|(_, name, ..)| *name == part)?;
    Some((slot(property, google_number(kind, number), ""), *part))
}

/// Kinds of one property have numbers of their own.
fn google_number(kind: &str, number: u32) -> u32 {
    match kind {
        "jot" => 10_000 + number,
        "external id" => 20_000 + number,
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognize(header: &str) -> Layout {
        let header: Vec<String> = header.split(',').map(str::to_owned).collect();
        Layout::recognize(&header, &[])
    }

    #[test]
    fn programs_are_recognized() {
        for (header, program) in [
            (
                "Name,Given Name,Family Name,E-mail 1 - Type,E-mail 1 - Value",
                CsvProgram::Google,
            ),
            (
                "First Name,Last Name,Labels,E-mail 1 - Label,E-mail 1 - Value",
                CsvProgram::Google,
            ),
            (
                "Title,First Name,Last Name,E-mail Address,Business Street",
                CsvProgram::Outlook,
            ),
            (
                "First Name,Last Name,URL,Email Address,Company,Position,Connected On",
                CsvProgram::LinkedIn,
            ),
            (
                "First Name,Last Name,Display Name,Primary Email,Birth Year",
                CsvProgram::Thunderbird,
            ),
            ("First Name,Last Name,Email,Title", CsvProgram::Other),
            ("Vorname,Nachname,E-Mail-Adresse", CsvProgram::Other),
        ] {
            let layout = recognize(header);
            assert_eq!(layout.program, program, "{header}");
            assert!(layout.check(1, &[]).is_ok(), "{header}");
        }
    }

    #[test]
    fn columns_of_one_value_share_a_slot() {
        let layout = recognize("First Name,Business Street,Business City,Home City,E-mail Address");
        let slot = |index: usize| match layout.columns[index].usage {
            ColumnUse::Part { slot, .. } => slot,
            _ => panic!("{index}"),
        };
        assert_eq!(slot(1), slot(2));
        assert_ne!(slot(2), slot(3));
    }

    #[test]
    fn unknown_columns_are_an_error_that_lists_them() {
        let layout = recognize("Kundennummer,Umsatz,Email");
        let Err(CsvError::UnknownColumns { columns, .. }) = layout.check(1, &[]) else {
            panic!("one known column is too few");
        };
        assert_eq!(columns, ["Kundennummer", "Umsatz", "Email"]);
        assert!(matches!(
            recognize("Subject,Start Date,End Date").check(1, &[]),
            Err(CsvError::Calendar)
        ));
    }
}
