//! [`Outgoing`]: a record on its way into a database, with its category and what it loses.

/// A record made of a card or a calendar component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing<T> {
    /// The record.
    pub record: T,
    /// The name of its category.
    pub category: Option<String>,
    /// Whether it is shown only with a password.
    pub is_secret: bool,
    /// The UID that it came with.
    pub uid: Option<String>,
    /// What a Palm has no place for, and what is written in another form: an item for each.
    pub notes: Vec<String>,
}

impl<T> Outgoing<T> {
    pub(crate) fn new(record: T) -> Self {
        Self {
            record,
            category: None,
            is_secret: false,
            uid: None,
            notes: Vec::new(),
        }
    }

    /// Takes the first category; the others are noted.
    pub(crate) fn take_categories(&mut self, names: Vec<String>) {
        for name in names {
            match &self.category {
                None => self.category = Some(name),
                Some(first) if *first == name => {}
                Some(_) => self.notes.push(format!(
                    "CATEGORIES: {name} (a Palm has one for each record)"
                )),
            }
        }
    }

    /// Takes a `CLASS`.
    pub(crate) fn take_class(&mut self, class: &str) {
        match class.trim().to_ascii_uppercase().as_str() {
            "PUBLIC" | "" => {}
            "PRIVATE" => self.is_secret = true,
            other => {
                self.is_secret = true;
                self.notes
                    .push(format!("CLASS: {other} (written as private)"));
            }
        }
    }
}
