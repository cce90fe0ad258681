//! The object `AddressBook`.

use std::sync::Arc;

use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{OwnedObjectPath, interface};

use super::book::Book;
use super::cursor::{AddressBookCursor, CursorState, posix_locale};
use super::fields::supported_fields;
use super::query::ContactQuery;
use super::view::{BookQuery, BookView};
use crate::error::EdsError;
use crate::gvariant::{PropertyValue, print_properties};
use crate::server::guard::{answer, answer_on_worker};
use crate::server::shared::sender_of;
use crate::sources::{self, SourceKind};

/// The capabilities of an address book.
const CAPABILITIES: [&str; 6] = [
    "local",
    "do-initial-query",
    "bulk-adds",
    "bulk-modifies",
    "bulk-removes",
    "contact-lists",
];

/// The object of an address book.
pub(super) struct AddressBook(pub(super) Arc<Book>);

#[interface(
    name = "org.gnome.evolution.dataserver.AddressBook",
    introspection_docs = false
)]
impl AddressBook {
    #[zbus(out_args("properties"))]
    async fn retrieve_properties(&self) -> Result<Vec<String>, EdsError> {
        answer(|| Ok(self.print_properties()))
    }

    #[zbus(out_args("properties"))]
    async fn open(&self) -> Result<Vec<String>, EdsError> {
        sources::report_connected(&self.0.server.connection, &self.0.source);
        answer(|| Ok(self.print_properties()))
    }

    async fn close(&self, #[zbus(header)] header: Header<'_>) -> Result<(), EdsError> {
        let book = &self.0;
        let client = sender_of(&header)?;
        book.server
            .close_once(SourceKind::AddressBook, &book.source.uid, &client);
        Ok(())
    }

    async fn refresh(&self) -> Result<(), EdsError> {
        Ok(())
    }

    #[zbus(out_args("uids"))]
    async fn create_contacts(
        &self,
        vcards: Vec<String>,
        opflags: u32,
    ) -> Result<Vec<String>, EdsError> {
        let _ = opflags;
        let book = self.0.clone();
        let created = answer_on_worker(move || book.create_contacts(vcards)).await;
        let uids = created.map_err(|e| e.attempting("Cannot add contact"))?;
        announce_revision(&self.0).await;
        Ok(uids)
    }

    async fn modify_contacts(&self, vcards: Vec<String>, opflags: u32) -> Result<(), EdsError> {
        self.0.told.wait().await;
        let book = self.0.clone();
        let modified = answer_on_worker(move || book.modify_contacts(vcards, opflags)).await;
        modified.map_err(|e| e.attempting("Cannot modify contacts"))?;
        announce_revision(&self.0).await;
        Ok(())
    }

    async fn remove_contacts(&self, uids: Vec<String>, opflags: u32) -> Result<(), EdsError> {
        let _ = opflags;
        self.0.told.wait().await;
        let book = self.0.clone();
        let removed = answer_on_worker(move || book.remove_contacts(&uids)).await;
        removed.map_err(|e| e.attempting("Cannot remove contacts"))?;
        announce_revision(&self.0).await;
        Ok(())
    }

    #[zbus(out_args("vcard"))]
    async fn get_contact(&self, uid: String) -> Result<String, EdsError> {
        answer(|| Ok(self.0.contact(&uid)?.text)).map_err(|e| e.attempting("Cannot get contact"))
    }

    #[zbus(out_args("vcards"))]
    async fn get_contact_list(&self, query: String) -> Result<Vec<String>, EdsError> {
        let book = self.0.clone();
        let found = answer_on_worker(move || {
            let query = ContactQuery::parse(&query)?;
            book.matching_cards(&query)
        });
        found
            .await
            .map_err(|e| e.attempting("Cannot get contact list"))
    }

    #[zbus(out_args("uids"))]
    async fn get_contact_list_uids(&self, query: String) -> Result<Vec<String>, EdsError> {
        let book = self.0.clone();
        let found =
            answer_on_worker(move || book.matching_uids(&ContactQuery::parse(&query)?)).await;
        found.map_err(|e| e.attempting("Cannot get contact list uids"))
    }

    #[zbus(out_args("object_path"))]
    async fn get_view(
        &self,
        #[zbus(header)] header: Header<'_>,
        query: String,
    ) -> Result<OwnedObjectPath, EdsError> {
        let query = answer(|| ContactQuery::parse(&query));
        let query = query.map_err(|e| e.attempting("Cannot open view"))?;
        let owner = sender_of(&header)?;
        let book = self.0.clone();
        BookView::open(BookQuery { book, query }, owner).await
    }

    #[zbus(out_args("object_path"))]
    async fn get_cursor(
        &self,
        #[zbus(header)] header: Header<'_>,
        query: String,
        sort_keys: Vec<String>,
        sort_types: Vec<String>,
    ) -> Result<OwnedObjectPath, EdsError> {
        let owner = sender_of(&header)?;
        let server = &self.0.server;
        let path = server.new_path("AddressBookCursor");
        let (book, cursor_path) = (self.0.clone(), path.clone());
        let opened = answer_on_worker(move || {
            CursorState::open(book, cursor_path, &query, &sort_keys, &sort_types)
        });
        let opened = opened
            .await
            .map_err(|e| e.attempting("Cannot open cursor"))?;
        let cursor = Arc::new(opened);
        self.0.cursors().push(cursor.clone());
        let object = AddressBookCursor(cursor.clone());
        let end = Box::new(move || Box::pin(cursor.drop_object()) as _);
        server.add_object(&owner, &path, object, end).await
    }

    #[zbus(out_args("found"))]
    async fn contains_email(&self, email: String) -> Result<bool, EdsError> {
        let book = self.0.clone();
        answer_on_worker(move || book.contains_email(&email)).await
    }

    #[zbus(signal)]
    async fn error(emitter: &SignalEmitter<'_>, message: &str) -> zbus::Result<()>;

    #[zbus(property)]
    fn online(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn revision(&self) -> String {
        self.0.revision()
    }

    #[zbus(property)]
    fn locale(&self) -> String {
        posix_locale()
    }

    #[zbus(property)]
    fn writable(&self) -> bool {
        !self.0.server.store.is_read_only()
    }

    #[zbus(property)]
    fn cache_dir(&self) -> String {
        let dir = &self.0.server.options.cache_dir;
        dir.to_string_lossy().into_owned()
    }

    #[zbus(property)]
    fn capabilities(&self) -> Vec<String> {
        CAPABILITIES.map(str::to_owned).to_vec()
    }

    #[zbus(property)]
    fn required_fields(&self) -> Vec<String> {
        vec!["file_as".to_owned()]
    }

    #[zbus(property)]
    fn supported_fields(&self) -> Vec<String> {
        supported_fields()
    }
}

impl AddressBook {
    fn print_properties(&self) -> Vec<String> {
        use PropertyValue::{Bool, List, Text};
        print_properties(vec![
            ("online", Bool(self.online())),
            ("revision", Text(self.revision())),
            ("locale", Text(self.locale())),
            ("writable", Bool(self.writable())),
            ("cache-dir", Text(self.cache_dir())),
            ("capabilities", List(self.capabilities())),
            ("required-fields", List(self.required_fields())),
            ("supported-fields", List(self.supported_fields())),
        ])
    }
}

/// Announces the book's revision to all clients. After a save this comes before the reply: a
/// client that asks for the revision after its own save reads the announced one.
pub(super) async fn announce_revision(book: &Book) {
    let server = &book.server;
    server
        .announce_revision::<AddressBook>(&book.path, book.revision())
        .await;
}
