//! `org.etui.Collection1`: an address book or a calendar.

use etui::CollectionId;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::store::CollectionKey;
use etui::{CollectionKind, Store};
use etui_contentline::charset::to_utf8;
use zbus::message::Header;
use zbus::{Connection, OwnedObjectPath, interface};

use crate::collection::{
    CollectionCalls, ListCalls, QueryEnd, QueryOptions, SavedRow, SavedRows, WireVersion,
};
use crate::descriptor::RowFile;
use crate::error::{ErrorKind, StoreError};
use crate::import_job;
use crate::options::{CallOptions, ListPage, OptionArgument};
use crate::paths::collection_id;
use crate::rows::{ArrayRows, MAX_ARRAY, RowTarget, WireRow, without_nul};
use crate::service::{Endpoint, Service};
use crate::view_opening::open_view;

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
    pub(crate) id: CollectionId,
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

    /// Runs a call that changes the collection, as a step with the name of the call.
    async fn change<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&dyn CollectionCalls, &Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let calls = Arc::clone(&self.calls);
        self.endpoint
            .change(what, move |service| work(&*calls, service.store()))
            .await
    }

    /// Copies or moves records.
    async fn transfer(
        &self,
        what: &'static str,
        records: Vec<(String, String)>,
        target: OwnedObjectPath,
        is_move: bool,
    ) -> Result<SavedRows, StoreError> {
        if records.len() > MAX_SAVED {
            return Err(too_many_records());
        }
        let target = collection_id(&target)?;
        self.change(what, move |calls, store| {
            calls.transfer_records(store, records, target, is_move)
        })
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

fn too_many_records() -> StoreError {
    let message = format!("{MAX_SAVED} records at most in a call; Import takes any number");
    StoreError::new(ErrorKind::TooLarge, message)
}

/// The answer of a search; `corrected` is the filter if words were corrected.
struct SearchAnswer {
    rows: Vec<WireRow>,
    end: QueryEnd,
    corrected: String,
}

/// Answers a search; if nothing matches, that for similar words.
fn search(
    calls: &dyn ListCalls,
    store: &Store,
    text: &str,
    options: QueryOptions,
    may_correct: bool,
) -> Result<SearchAnswer, StoreError> {
    let ask = |filter: &str, options| {
        let mut target = RowTarget::Array(ArrayRows::default());
        let end = calls.run_query(store, filter, options, &mut target)?;
        Ok::<_, StoreError>((array_rows(target), end))
    };
    let may_correct = may_correct && options.begins_list();
    let (rows, end) = ask(text, options.clone())?;
    let corrected = match may_correct && rows.is_empty() {
        true => calls.correct_filter(store, text)?,
        false => None,
    };
    let (rows, end, corrected) = match corrected {
        Some(filter) => {
            let (rows, end) = ask(&filter, options)?;
            (rows, end, filter)
        }
        None => (rows, end, String::new()),
    };
    Ok(SearchAnswer {
        rows,
        end,
        corrected,
    })
}

/// Runs a call whose answer is a descriptor.
pub(crate) fn into_file<T>(
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
                CollectionKind::Contacts => store
                    .collection::<Card>(CollectionKey::Id(self.id))?
                    .external_id()?,
                _ => store
                    .collection::<CalendarObject>(CollectionKey::Id(self.id))?
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
            return Err(too_many_records());
        }
        self.change("Save", move |calls, store| {
            calls.save_records(store, records, all)
        })
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
        self.change("Remove", move |calls, store| {
            calls.remove_records(store, records)
        })
        .await
    }

    /// Undoes the latest change of records: a removed one comes back, an edited one gets the text
    /// it had before. Returns the UIDs with nothing to undo.
    #[zbus(out_args("missing"))]
    async fn restore(&self, uids: Vec<String>) -> Result<Vec<String>, StoreError> {
        self.change("Restore", move |calls, store| {
            calls.restore_records(store, &uids)
        })
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
    ) -> Result<OwnedObjectPath, StoreError> {
        CallOptions::expect_none(options)?;
        open_view(
            &self.endpoint,
            self.calls.clone(),
            filter,
            &header,
            connection,
        )
        .await
    }

    /// Gives the collection another name. Its object keeps its path.
    async fn rename(&self, name: String) -> Result<(), StoreError> {
        self.change("Rename", move |calls, store| calls.rename(store, &name))
            .await
    }

    /// Copies records to another collection of the same kind: UIDs, each with the ETag that it must
    /// have, or an empty text. All are copied, or none. Returns the id, the UID and the ETag of each
    /// copy. A record that is there already with the same text stays; with another text it is a
    /// Conflict. No options.
    #[zbus(out_args("copies"))]
    async fn copy(
        &self,
        records: Vec<(String, String)>,
        target: OwnedObjectPath,
        options: OptionArgument,
    ) -> Result<SavedRows, StoreError> {
        CallOptions::expect_none(options)?;
        self.transfer("Copy", records, target, false).await
    }

    /// Moves records to another collection of the same kind. As Copy, and the records are removed
    /// here.
    #[zbus(name = "Move", out_args("moved"))]
    async fn move_records(
        &self,
        records: Vec<(String, String)>,
        target: OwnedObjectPath,
        options: OptionArgument,
    ) -> Result<SavedRows, StoreError> {
        CallOptions::expect_none(options)?;
        self.transfer("Move", records, target, true).await
    }

    /// Returns the versions of a record that are kept, at least those of 30 days, the latest first:
    /// number, time of the change in seconds since 1970 (0: not recorded), `added`, `edited`,
    /// `removed`, `restored` or `earlier`, and whether it is the present state. Empty if there is no
    /// such record, also not a removed one. Options `limit t`, `offset t`.
    #[zbus(out_args("versions"))]
    async fn history(
        &self,
        uid: String,
        options: OptionArgument,
    ) -> Result<Vec<WireVersion>, StoreError> {
        let page = ListPage::parse(options)?;
        self.run(move |calls, service| {
            let versions = page.of(calls.list_versions(service.store(), &uid)?);
            check_array(versions.len() * 48)?;
            Ok(versions)
        })
        .await
    }

    /// Returns the text that a record had in a version: a number of History.
    #[zbus(out_args("text"))]
    async fn version(&self, uid: String, number: i64) -> Result<String, StoreError> {
        self.run(move |calls, service| {
            let text = calls.read_version(service.store(), &uid, number)?;
            check_array(text.len())?;
            Ok(without_nul(to_utf8(&text)).into_owned())
        })
        .await
    }

    /// Returns the text that a record had in a version as a descriptor: one row with the UID and the
    /// text, byte for byte.
    #[zbus(out_args("file", "rows"))]
    async fn version_fd(
        &self,
        uid: String,
        number: i64,
    ) -> Result<(zbus::OwnedFd, u64), StoreError> {
        let work = move |calls: &dyn CollectionCalls, service: &Service| {
            let text = calls.read_version(service.store(), &uid, number)?;
            let mut file = RowFile::new()?;
            file.push_row(0, [uid.as_bytes(), &text].iter())?;
            let (file, rows) = file.finish()?;
            Ok((zbus::OwnedFd::from(file), rows))
        };
        self.run(work).await
    }

    /// Saves the text that a record had in a version; a removed record comes back with it. Returns
    /// the id, the UID and the ETag. Restore undoes it.
    #[zbus(out_args("saved"))]
    async fn bring_back(&self, uid: String, number: i64) -> Result<(SavedRow,), StoreError> {
        let work = move |calls: &dyn CollectionCalls, store: &Store| {
            Ok((calls.bring_back(store, &uid, number)?,))
        };
        self.change("BringBack", work).await
    }

    /// Returns the records that a person means by a text, the best matches first: a plain word is
    /// looked for in names, then in organisations, addresses and numbers, then in notes. Options as
    /// for Query, without `sort`, and `correct b` (default true): if nothing matches, similar words
    /// are looked for. `corrected` is then the filter with them: ask for further pages with it; else
    /// it is empty.
    #[zbus(out_args("rows", "next", "count", "corrected"))]
    async fn search(
        &self,
        text: String,
        options: OptionArgument,
    ) -> Result<(Vec<WireRow>, String, u64, String), StoreError> {
        let mut options = CallOptions::new(options);
        let may_correct = options.take_flag("correct")?.unwrap_or(true);
        let options = QueryOptions::parse_ranked(options)?;
        self.run(move |calls, service| {
            let answer = search(calls, service.store(), &text, options, may_correct)?;
            Ok((
                answer.rows,
                answer.end.next,
                answer.end.count,
                answer.corrected,
            ))
        })
        .await
    }
}

/// Fails if an array of this size is too large to be sent.
pub(crate) fn check_array(bytes: usize) -> Result<(), StoreError> {
    match bytes > MAX_ARRAY {
        true => Err(StoreError::too_large()),
        false => Ok(()),
    }
}
