//! [`Layout`]: the program that wrote a table, and the meaning of its columns.

use super::columns::{
    COMMON, GOOGLE, GOOGLE_NUMBERED, IGNORED, KnownColumn, LINKEDIN, OUTLOOK, THUNDERBIRD,
};
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
    Kept,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The name in lower-case, for comparison.
    pub(crate) key: String,
    pub(crate) usage: ColumnUse,
}

/// The columns of a table and their meaning.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) program: CsvProgram,
    pub(crate) columns: Vec<Column>,
    pub(crate) slots: Vec<Slot>,
    /// The number of columns with a known meaning.
    pub(crate) known: usize,
}

impl Layout {
    /// Recognizes the columns of a header. Columns that `map` names have the meaning given there.
    pub(crate) fn recognize(header: &[String], map: &[(String, ColumnField)]) -> Self {
        let programs = [
            CsvProgram::Other,
            CsvProgram::Google,
            CsvProgram::Outlook,
            CsvProgram::Thunderbird,
            CsvProgram::LinkedIn,
        ];
        let mut best = Self::of_program(CsvProgram::Other, header, map);
        for program in programs {
            let layout = Self::of_program(program, header, map);
            if layout.own(program) > best.own(best.program) {
                best = layout;
            }
        }
        best
    }

    /// The number of columns that the program writes.
    fn own(&self, program: CsvProgram) -> usize {
        let keys = self.columns.iter();
        keys.filter(|column| find_column(program, &column.key).is_some())
            .count()
    }

    fn of_program(program: CsvProgram, header: &[String], map: &[(String, ColumnField)]) -> Self {
        let mut layout = Self {
            program,
            columns: Vec::new(),
            slots: Vec::new(),
            known: 0,
        };
        for name in header {
            let name = name.trim();
            let key = column_key(name);
            let mapped = map.iter().find(|(column, _)| column_key(column) == key);
            let found = || {
                let own = find_column(program, &key);
                own.or_else(|| find_column(CsvProgram::Other, &key))
            };
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
                None if IGNORED.contains(&key.as_str()) => ColumnUse::Ignored,
                None => match found() {
                    Some((slot, part)) => layout.part(slot, part),
                    None => ColumnUse::Kept,
                },
            };
            layout.known += usize::from(usage != ColumnUse::Kept);
            layout.columns.push(Column {
                name: name.to_owned(),
                key,
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

    /// Checks that the columns of a map exist, and that enough columns are known.
    pub(crate) fn check(&self, line: u64, map: &[(String, ColumnField)]) -> Result<(), CsvError> {
        let names = || {
            let names = self.columns.iter().map(|column| column.name.clone());
            names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
        };
        let has = |key: &str| self.columns.iter().any(|column| column.key == key);
        if has("subject") && has("start date") {
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

/// Returns the name of a column for comparison.
fn column_key(name: &str) -> String {
    let name = name.trim().trim_matches('"').to_lowercase();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
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
