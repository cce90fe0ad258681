//! `org.etui.Collection1`: an address book or a calendar.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use etui::CollectionKind;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, ObjectServer, OwnedObjectPath, interface};

use crate::collection::{CollectionCalls, QueryOptions, SavedRows};
use crate::descriptor::RowFile;
use crate::error::{ErrorKind, StoreError};
use crate::import_job;
use crate::options::{CallOptions, OptionArgument};
use crate::rows::{ArrayRows, MAX_ARRAY, RowTarget, WireRow};
use crate::service::{Endpoint, OwnedKind, OwnedObject, Service};
use crate::view_object::ViewObject;

/// UIDs up to which records are read at once, without another thread.
const FEW_UIDS: usize = 128;
/// Records of one call of `Save`: the reply, an array of D-Bus, has at most 64 MiB.
const MAX_SAVED: usize = 100_000;
/// Changes that `ChangesSince` returns at most if no limit is given.
const MAX_CHANGES: u64 = 8_192;

/// A collection's object on one connection.
#[derive(Clone)]
pub(crate) struct CollectionObject {
    pub(crate) endpoint: Endpoint,
    pub(crate) calls: Arc<dyn CollectionCalls>,
    pub(crate) kind: CollectionKind,
    pub(crate) id: i64,
}

/// Returns the name of a kind on the wire.
pub(crate) fn kind_name(kind: CollectionKind) -> &'static str {
    match kind {
        CollectionKind::Contacts => "contacts",
        _ => "calendar",
    }
}

impl CollectionObject {
    /// Runs a call on the collection beside the thread of the bus.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn CollectionCalls, &Service) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let calls = Arc::clone(&self.calls);
        self.endpoint
            .answer_on_worker(move |service| work(&*calls, service))
            .await
    }

    /// Runs a call on the collection that reads little.
    fn run_now<T>(
        &self,
        work: impl FnOnce(&dyn CollectionCalls, &Service) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.endpoint.answer(|service| work(&*self.calls, service))
    }
}

/// Reads records into an array.
fn read_array(
    calls: &dyn CollectionCalls,
    service: &Service,
    uids: &[String],
    columns: &[String],
) -> Result<(Vec<WireRow>, Vec<String>), StoreError> {
    let mut target = RowTarget::Array(ArrayRows::default());
    let missing = calls.read_records(service.store(), uids, columns, &mut target)?;
    Ok((array_rows(target), missing))
}

/// Returns the rows of an answer by array.
pub(crate) fn array_rows(target: RowTarget) -> Vec<WireRow> {
    match target {
        RowTarget::Array(array) => array.rows,
        RowTarget::File(_) => Vec::new(),
    }
}

/// Runs a call whose answer is a descriptor.
fn into_file<T>(
    fill: impl FnOnce(&mut RowTarget) -> Result<T, StoreError>,
) -> Result<(OwnedFd, u64, T), StoreError> {
    let mut target = RowTarget::File(RowFile::new()?);
    let value = fill(&mut target)?;
    let RowTarget::File(file) = target else {
        return Err(StoreError::too_large());
    };
    let (descriptor, rows) = file.finish()?;
    Ok((descriptor, rows, value))
}

#[interface(name = "org.etui.Collection1")]
impl CollectionObject {
    /// The name that a person sees. Not announced by PropertiesChanged.
    #[zbus(property(emits_changed_signal = "false"))]
    fn name(&self) -> Result<String, StoreError> {
        self.run_now(|calls, service| calls.name(service.store()))
    }

    /// The kind: `contacts` or `calendar`.
    #[zbus(property(emits_changed_signal = "const"))]
    fn kind(&self) -> String {
        kind_name(self.kind).to_owned()
    }

    /// The external id that the collection was given, or an empty text. It survives renaming.
    #[zbus(property(emits_changed_signal = "false"))]
    fn external_id(&self) -> Result<String, StoreError> {
        self.run_now(|_, service| {
            let store = service.store();
            let external_id = match self.kind {
                CollectionKind::Contacts => {
                    store.collection_by_id::<Card>(self.id)?.external_id()?
                }
                _ => store
                    .collection_by_id::<CalendarObject>(self.id)?
                    .external_id()?,
            };
            Ok(external_id.unwrap_or_default())
        })
    }

    /// The number of records. Not announced by PropertiesChanged: open a view to follow it.
    #[zbus(property(emits_changed_signal = "false"))]
    fn count(&self) -> Result<u64, StoreError> {
        self.run_now(|calls, service| calls.count_matching(service.store(), ""))
    }

    /// A token of the present state, for ChangesSince. Not announced by PropertiesChanged.
    #[zbus(property(emits_changed_signal = "false"))]
    fn token(&self) -> Result<String, StoreError> {
        self.run_now(|_, service| Ok(service.store().token()?.to_string()))
    }

    /// Returns a record: its id, its ETag, and its values in the order of the columns.
    #[zbus(out_args("record"))]
    fn get(&self, uid: String, columns: Vec<String>) -> Result<(WireRow,), StoreError> {
        self.run_now(|calls, service| {
            let (rows, _) = read_array(calls, service, std::slice::from_ref(&uid), &columns)?;
            let row = rows.into_iter().next().ok_or_else(|| {
                let message = format!("there is no record with UID \"{uid}\"");
                StoreError::new(ErrorKind::NotFound, message)
            })?;
            Ok((row,))
        })
    }

    /// Returns records by UID in the order asked for, and the UIDs that no record has. No options.
    #[zbus(out_args("found", "missing"))]
    async fn get_many(
        &self,
        uids: Vec<String>,
        columns: Vec<String>,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, Vec<String>), StoreError> {
        CallOptions::expect_none(options)?;
        if uids.len() <= FEW_UIDS {
            return self.run_now(|calls, service| read_array(calls, service, &uids, &columns));
        }
        self.run(move |calls, service| read_array(calls, service, &uids, &columns))
            .await
    }

    /// Returns records by UID as a descriptor; UIDs that no record has are left out. No options.
    #[zbus(out_args("file", "rows"))]
    async fn get_many_fd(
        &self,
        uids: Vec<String>,
        columns: Vec<String>,
        options: OptionArgument,
    ) -> Result<(zbus::OwnedFd, u64), StoreError> {
        CallOptions::expect_none(options)?;
        let work = move |calls: &dyn CollectionCalls, service: &Service| {
            let (file, rows, _) =
                into_file(|target| calls.read_records(service.store(), &uids, &columns, target))?;
            Ok((file.into(), rows))
        };
        self.run(work).await
    }

    /// Returns the texts of records byte for byte, also those that are not UTF-8, as a descriptor:
    /// each row has the UID and the text. UIDs that no record has are left out.
    #[zbus(out_args("file", "rows"))]
    async fn raw(&self, uids: Vec<String>) -> Result<(zbus::OwnedFd, u64), StoreError> {
        let work = move |calls: &dyn CollectionCalls, service: &Service| {
            let mut file = RowFile::new()?;
            calls.read_raw(service.store(), &uids, &mut file)?;
            let (file, rows) = file.finish()?;
            Ok((zbus::OwnedFd::from(file), rows))
        };
        self.run(work).await
    }

    /// Answers a query. An empty filter selects all records. Options: `columns as`, `sort s`,
    /// `limit t`, `offset t`, `after s` (the `next` of the page before), `count b`: fill in the
    /// number of all matches, else 0. `next` is empty if this is the last page.
    #[zbus(out_args("rows", "next", "count"))]
    async fn query(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64), StoreError> {
        let options = QueryOptions::parse(options)?;
        let work = move |calls: &dyn CollectionCalls, service: &Service| {
            let mut target = RowTarget::Array(ArrayRows::default());
            let end = calls.run_query(service.store(), &filter, options, &mut target)?;
            Ok((array_rows(target), end.next, end.count))
        };
        self.run(work).await
    }

    /// Answers a query as a descriptor. Options as for Query, without `count`.
    #[zbus(out_args("file", "rows", "next"))]
    async fn query_fd(
        &self,
        filter: String,
        options: OptionArgument,
    ) -> Result<(zbus::OwnedFd, u64, String), StoreError> {
        if options.contains_key("count") {
            return Err(StoreError::option("count", "is not known here"));
        }
        let options = QueryOptions::parse(options)?;
        let work = move |calls: &dyn CollectionCalls, service: &Service| {
            let (file, rows, end) =
                into_file(|target| calls.run_query(service.store(), &filter, options, target))?;
            Ok((file.into(), rows, end.next))
        };
        self.run(work).await
    }

    /// Describes how a query would be answered. Options as for Query.
    #[zbus(out_args("plan"))]
    async fn explain(&self, filter: String, options: OptionArgument) -> Result<String, StoreError> {
        let options = QueryOptions::parse(options)?;
        self.run(move |calls, service| calls.explain_query(service.store(), &filter, options))
            .await
    }

    /// Saves records: cards or components, each with a condition: empty, `absent`, or an ETag.
    /// Returns the id, the UID and the ETag of each. When the reply is sent they are on the disk.
    /// Option `all b` (default true): a condition that does not hold refuses all. If false, the
    /// others are saved; a refused one has the id 0 and the ETag that the record has now.
    #[zbus(out_args("saved"))]
    async fn save(
        &self,
        records: Vec<(String, String)>,
        options: OptionArgument,
    ) -> Result<SavedRows, StoreError> {
        let mut options = CallOptions::new(options);
        let all = options.take_flag("all")?.unwrap_or(true);
        options.finish()?;
        if records.len() > MAX_SAVED {
            return Err(StoreError::new(
                ErrorKind::TooLarge,
                format!("{MAX_SAVED} records at most in a call; Import takes any number"),
            ));
        }
        self.run(move |calls, service| calls.save_records(service.store(), records, all))
            .await
    }

    /// Removes records: UIDs, each with an ETag or an empty text. All are removed, or none. They
    /// can be restored for 30 days. No options.
    async fn remove(
        &self,
        records: Vec<(String, String)>,
        options: OptionArgument,
    ) -> Result<(), StoreError> {
        CallOptions::expect_none(options)?;
        self.run(move |calls, service| calls.remove_records(service.store(), records))
            .await
    }

    /// Undoes the latest change of records: a removed one comes back, an edited one gets the text
    /// it had before. Returns the UIDs with nothing to undo.
    #[zbus(out_args("missing"))]
    async fn restore(&self, uids: Vec<String>) -> Result<Vec<String>, StoreError> {
        self.run(move |calls, service| calls.restore_records(service.store(), &uids))
            .await
    }

    /// Imports a file or a pipe: vCards or iCalendar objects of any version and charset. Returns
    /// the object of the job (org.etui.ImportJob1). No options.
    #[zbus(out_args("job"))]
    async fn import(
        &self,
        file: zbus::OwnedFd,
        options: OptionArgument,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<OwnedObjectPath, StoreError> {
        CallOptions::expect_none(options)?;
        self.endpoint.answer(|_| Ok(()))?;
        let client = self.endpoint.client(&header);
        let collection = (&self.endpoint, &self.calls);
        import_job::start(collection, file.into(), (client, &header), connection).await
    }

    /// Returns the changes since a token: UID, `added`, `changed` or `removed`, and id of each
    /// record, once each; the token to go on from; and whether there are more. Option `limit t`.
    #[zbus(out_args("changes", "token", "more"))]
    async fn changes_since(
        &self,
        token: String,
        options: OptionArgument,
    ) -> Result<(Vec<(String, String, u64)>, String, bool), StoreError> {
        let mut options = CallOptions::new(options);
        let limit = options.take_number("limit")?.unwrap_or(MAX_CHANGES);
        options.finish()?;
        let work = move |calls: &dyn CollectionCalls, service: &Service| {
            let page = calls.changes_since(service.store(), &token, limit)?;
            let listed = page
                .0
                .into_iter()
                .map(|(uid, kind, id)| (uid, kind.to_owned(), id));
            Ok((listed.collect(), page.1, page.2))
        };
        self.run(work).await
    }

    /// Opens a view (org.etui.View1) of the caller's own. No options.
    #[zbus(out_args("view"))]
    async fn open_view(
        &self,
        filter: String,
        options: OptionArgument,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
        #[zbus(object_server)] server: &ObjectServer,
    ) -> Result<OwnedObjectPath, StoreError> {
        CallOptions::expect_none(options)?;
        let service = &self.endpoint.service;
        let number = service.next_number();
        let path = format!("/org/etui/View1/{number}");
        let mut emitter = SignalEmitter::new(connection, path.clone())?.into_owned();
        if let Some(sender) = header.sender() {
            emitter = emitter.set_destination(sender.to_owned().into());
        }
        let runtime = zruntime::SharedRuntime::current()?;
        let ready = Box::new(move || {
            let emitter = emitter.clone();
            let send = async move {
                // A client that left gets nothing.
                let _ = ViewObject::ready(&emitter).await;
            };
            runtime.spawn("view is ready", send).detach();
        });
        let client = self.endpoint.client(&header);
        let object = OwnedObject {
            client,
            connection: connection.clone(),
            kind: OwnedKind::View(number),
        };
        service.add_object(&path, object)?;
        let (calls, text) = (Arc::clone(&self.calls), filter.clone());
        let opened = self
            .endpoint
            .answer_on_worker(move |service| service.views()?.open(number, calls, text, ready))
            .await;
        let view = ViewObject {
            endpoint: self.endpoint.clone(),
            calls: Arc::clone(&self.calls),
            filter,
            number,
        };
        let registered = match opened {
            Ok(()) => {
                let view = self.endpoint.guard(view);
                server.at(path.as_str(), view).await.map(|_| ())
            }
            Err(error) => {
                service.close_object(&path).await;
                return Err(error);
            }
        };
        if let Err(error) = registered {
            service.close_object(&path).await;
            return Err(error.into());
        }
        Ok(OwnedObjectPath::try_from(path)?)
    }
}

/// Fails if an array of this size is too large to be sent.
pub(crate) fn check_array(bytes: usize) -> Result<(), StoreError> {
    match bytes > MAX_ARRAY {
        true => Err(StoreError::too_large()),
        false => Ok(()),
    }
}
