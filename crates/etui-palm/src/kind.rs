//! [`DatabaseKind`]: the four standard databases.

/// A standard database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatabaseKind {
    /// AddressDB: contacts.
    Addresses,
    /// DatebookDB: appointments.
    Appointments,
    /// ToDoDB: to-dos.
    Tasks,
    /// MemoDB: memos.
    Memos,
}

/// The type of the four.
pub(crate) const DATA: [u8; 4] = *b"DATA";

impl DatabaseKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::Addresses,
        Self::Appointments,
        Self::Tasks,
        Self::Memos,
    ];

    /// Returns its name on the device.
    pub fn name(self) -> &'static str {
        match self {
            Self::Addresses => "AddressDB",
            Self::Appointments => "DatebookDB",
            Self::Tasks => "ToDoDB",
            Self::Memos => "MemoDB",
        }
    }

    /// Returns its creator.
    pub fn creator(self) -> [u8; 4] {
        *match self {
            Self::Addresses => b"addr",
            Self::Appointments => b"date",
            Self::Tasks => b"todo",
            Self::Memos => b"memo",
        }
    }

    /// Returns the kind with this type and creator.
    pub fn of(kind: [u8; 4], creator: [u8; 4]) -> Option<Self> {
        let is_it = |one: &Self| kind == DATA && one.creator() == creator;
        Self::ALL.into_iter().find(is_it)
    }

    /// Returns the creator as text.
    pub(crate) fn creator_text(self) -> &'static str {
        match self {
            Self::Addresses => "addr",
            Self::Appointments => "date",
            Self::Tasks => "todo",
            Self::Memos => "memo",
        }
    }
}
