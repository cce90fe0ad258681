//! The bus names of the stock server, and the paths of its factories.

/// The bus name of address books.
pub const BOOK_NAME: &str = "org.gnome.evolution.dataserver.AddressBook10";
/// The bus name of calendars.
pub const CALENDAR_NAME: &str = "org.gnome.evolution.dataserver.Calendar8";
/// The factory object of address books.
pub(crate) const BOOK_FACTORY: &str = "/org/gnome/evolution/dataserver/AddressBookFactory";
/// The factory object of calendars.
pub(crate) const CALENDAR_FACTORY: &str = "/org/gnome/evolution/dataserver/CalendarFactory";
