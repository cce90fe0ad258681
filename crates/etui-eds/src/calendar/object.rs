//! The object `Calendar`.

use std::sync::Arc;

use etui::calendar::Draft;
use zbus::message::Header;
use zbus::names::BusName;
use zbus::object_server::SignalEmitter;
use zbus::{OwnedObjectPath, interface};

use super::errors::object_error;
use super::incoming::now;
use super::lines::new_uid;
use super::mod_type::ModType;
use super::opened::OpenedCalendar;
use super::query::CalendarQuery;
use super::view::{ComponentView, OpenedQuery};
use super::{alarms, free_busy, reading, receive, time_zones, writing};
use crate::error::{EdsError, EdsResult};
use crate::gvariant::{PropertyValue, print_properties};
use crate::server::guard::{answer, answer_on_worker};
use crate::server::shared::sender_of;
use crate::sources::{self, SourceKind};

/// What a calendar can do.
const CAPABILITIES: [&str; 11] = [
    "no-email-alarms",
    "no-thisandprior",
    "delegate-support",
    "remove-only-this",
    "bulk-adds",
    "bulk-modifies",
    "bulk-removes",
    "alarm-description",
    "task-can-recur",
    "component-color",
    "task-estimated-duration",
];

/// The object of a calendar, task list or memo list.
pub(super) struct DesktopCalendar(pub(super) Arc<OpenedCalendar>);

#[interface(
    name = "org.gnome.evolution.dataserver.Calendar",
    introspection_docs = false
)]
impl DesktopCalendar {
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
        let opened = &self.0;
        let client = sender_of(&header)?;
        opened
            .server
            .close_once(opened.kind, &opened.source.uid, &client);
        Ok(())
    }

    async fn refresh(&self) -> Result<(), EdsError> {
        Ok(())
    }

    #[zbus(out_args("uids"))]
    async fn create_objects(
        &self,
        calobjs: Vec<String>,
        opflags: u32,
    ) -> Result<Vec<String>, EdsError> {
        // The flags concern conflicts with a remote server and messages to attendees.
        let _ = opflags;
        self.change("Cannot create calendar object", move |opened| {
            writing::create_objects(opened, &calobjs)
        })
        .await
    }

    async fn modify_objects(
        &self,
        calobjs: Vec<String>,
        mod_type: String,
        opflags: u32,
    ) -> Result<(), EdsError> {
        let _ = opflags;
        self.0.told.wait().await;
        self.change("Cannot modify calendar object", move |opened| {
            writing::modify_objects(opened, &calobjs, ModType::parse(&mod_type)?)
        })
        .await
    }

    async fn remove_objects(
        &self,
        uid_rid_array: Vec<(String, String)>,
        mod_type: String,
        opflags: u32,
    ) -> Result<(), EdsError> {
        let _ = opflags;
        self.0.told.wait().await;
        self.change("Cannot remove calendar object", move |opened| {
            writing::remove_objects(opened, &uid_rid_array, ModType::parse(&mod_type)?)
        })
        .await
    }

    async fn receive_objects(&self, calobj: String, opflags: u32) -> Result<(), EdsError> {
        let _ = opflags;
        self.0.told.wait().await;
        self.change("Cannot receive calendar objects", move |opened| {
            receive::receive_objects(opened, &calobj)
        })
        .await
    }

    #[zbus(out_args("users", "out_calobj"))]
    async fn send_objects(
        &self,
        calobj: String,
        opflags: u32,
    ) -> Result<(Vec<String>, String), EdsError> {
        let _ = opflags;
        Ok((Vec::new(), calobj))
    }

    #[zbus(out_args("calobj"))]
    async fn get_object(&self, uid: String, rid: String) -> Result<String, EdsError> {
        answer(|| reading::get_object(&self.0, &uid, &rid))
            .map_err(|e| e.attempting("Cannot get calendar object"))
    }

    #[zbus(out_args("calobjs"))]
    async fn get_object_list(&self, query: String) -> Result<Vec<String>, EdsError> {
        let opened = self.0.clone();
        let found = answer_on_worker(move || {
            let query = CalendarQuery::parse(&query, &opened.zones()?)?;
            reading::list_objects(&opened, &query)
        });
        found
            .await
            .map_err(|e| e.attempting("Cannot get calendar object list"))
    }

    #[zbus(out_args("out_freebusy"))]
    async fn get_free_busy(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
        start: i64,
        end: i64,
        users: Vec<String>,
    ) -> Result<Vec<String>, EdsError> {
        let client = sender_of(&header)?;
        let connection = &self.0.server.connection;
        let sources = sources::read_sources(connection).await?;
        let opened = self.0.clone();
        let found = answer_on_worker(move || {
            let addresses = free_busy::mail_addresses(&sources);
            free_busy::free_busy(&opened, start, end, &users, &addresses)
        });
        let found = found.await;
        let found = found.map_err(|e| e.attempting("Cannot retrieve calendar free/busy list"))?;
        let emitter = emitter.set_destination(BusName::Unique(client.as_ref()));
        Self::free_busy_data(&emitter, found.clone()).await?;
        Ok(found)
    }

    #[zbus(out_args("uris"))]
    async fn get_attachment_uris(&self, uid: String, rid: String) -> Result<Vec<String>, EdsError> {
        answer(|| reading::get_attachment_uris(&self.0, &uid, &rid))
            .map_err(|e| e.attempting("Could not retrieve attachment uris"))
    }

    async fn discard_alarm(
        &self,
        uid: String,
        rid: String,
        alarm_uid: String,
        opflags: u32,
    ) -> Result<(), EdsError> {
        let _ = opflags;
        self.change("Could not discard reminder", move |opened| {
            alarms::discard_alarm(opened, &uid, &rid, &alarm_uid)
        })
        .await
    }

    #[zbus(out_args("tzobject"))]
    async fn get_timezone(&self, tzid: String) -> Result<String, EdsError> {
        answer(|| time_zones::get_time_zone(&self.0, &tzid))
            .map_err(|e| e.attempting("Could not retrieve calendar time zone"))
    }

    async fn add_timezone(&self, tzobject: String) -> Result<(), EdsError> {
        let opened = self.0.clone();
        let added = answer_on_worker(move || time_zones::add_time_zone(&opened, &tzobject)).await;
        added.map_err(|e| e.attempting("Could not add calendar time zone"))
    }

    #[zbus(out_args("object_path"))]
    async fn get_view(
        &self,
        #[zbus(header)] header: Header<'_>,
        query: String,
    ) -> Result<OwnedObjectPath, EdsError> {
        let query = answer(|| CalendarQuery::parse(&query, &self.0.zones()?));
        let query = query.map_err(|e| e.attempting("Cannot open view"))?;
        let owner = sender_of(&header)?;
        let opened = self.0.clone();
        ComponentView::open(OpenedQuery { opened, query }, owner).await
    }

    #[zbus(signal)]
    async fn error(emitter: &SignalEmitter<'_>, message: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn free_busy_data(
        emitter: &SignalEmitter<'_>,
        free_busy: Vec<String>,
    ) -> zbus::Result<()>;

    #[zbus(property)]
    fn online(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn revision(&self) -> String {
        self.0.revision()
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
    fn default_object(&self) -> String {
        answer(|| self.write_default_object()).unwrap_or_default()
    }

    #[zbus(property)]
    fn cal_email_address(&self) -> String {
        self.0.email_address().to_owned()
    }

    #[zbus(property)]
    fn alarm_email_address(&self) -> String {
        self.0.email_address().to_owned()
    }
}

impl DesktopCalendar {
    /// Runs a change on a worker, and announces the revision before the reply.
    async fn change<T: Send + 'static>(
        &self,
        attempt: &'static str,
        work: impl Fn(&OpenedCalendar) -> EdsResult<T> + Send + 'static,
    ) -> EdsResult<T> {
        let opened = self.0.clone();
        let done = answer_on_worker(move || {
            let done = writing::retry_conflicts(|| work(&opened))?;
            let is_new = opened.advance_revision()?;
            Ok((done, is_new))
        });
        let (done, is_new) = done.await.map_err(|e| e.attempting(attempt))?;
        if is_new {
            announce_revision(&self.0).await;
        }
        Ok(done)
    }

    /// Returns a new component of the kind.
    fn write_default_object(&self) -> EdsResult<String> {
        let zones = etui::calendar::zones::TimeZoneResolver::new();
        let draft = match self.0.kind {
            SourceKind::TaskList => Draft::todo(""),
            SourceKind::MemoList => Draft::journal(""),
            _ => Draft::event(""),
        };
        let made = draft.uid(&new_uid()).make(&zones);
        let mut object = made.map_err(object_error)?;
        object
            .remove(0, "SUMMARY", None, &zones)
            .map_err(object_error)?;
        for name in ["CREATED", "LAST-MODIFIED"] {
            object
                .set_time(0, name, &now(), &zones)
                .map_err(object_error)?;
        }
        Ok(reading::component_texts(&object).concat())
    }

    fn print_properties(&self) -> Vec<String> {
        use PropertyValue::{Bool, List, Text};
        print_properties(vec![
            ("online", Bool(self.online())),
            ("revision", Text(self.revision())),
            ("writable", Bool(self.writable())),
            ("cache-dir", Text(self.cache_dir())),
            ("capabilities", List(self.capabilities())),
            ("default-object", Text(self.default_object())),
            ("cal-email-address", Text(self.cal_email_address())),
            ("alarm-email-address", Text(self.alarm_email_address())),
        ])
    }
}

/// Announces the calendar's revision to all clients.
pub(super) async fn announce_revision(opened: &OpenedCalendar) {
    let server = &opened.server;
    server
        .announce_revision::<DesktopCalendar>(&opened.path, opened.revision())
        .await;
}
