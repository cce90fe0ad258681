//! [`StockSide`]: a source as the stock server has it, read and written through its helper.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use etui::calendar::zones::TimeZoneDefinition;
use zbus::{Connection, DynamicType};

use super::SwitchError;
use super::store_side::{Outgoing, digest};
use crate::calendar::exchange::{changed_instances, series_from_stock, without_zones};
use crate::contacts::exchange::card_from_stock;
use crate::sources::{Source, SourceKind};
use crate::stock::Helpers;

/// The modification type that concerns a changed instance alone.
const ONLY_THIS: &str = "only-this";

/// An opened source of the stock server.
pub(super) struct StockSide {
    connection: Connection,
    pub(super) kind: SourceKind,
    path: String,
    bus_name: String,
    picture_dir: std::path::PathBuf,
    /// The records of a calendar; those of an address book are read one by one.
    series: BTreeMap<String, Vec<u8>>,
    /// The names of the time zones that were added.
    zones: HashSet<String>,
}

impl StockSide {
    /// Opens a source through the stock server's helper.
    pub(super) async fn open(
        helpers: &Helpers,
        connection: &Connection,
        kind: SourceKind,
        source: &Source,
        picture_dir: &Path,
    ) -> Result<Self, SwitchError> {
        let opened = helpers.open_source(kind, "local", &source.uid, None);
        let (path, bus_name) = opened.await?;
        let mut side = Self {
            connection: connection.clone(),
            kind,
            path,
            bus_name,
            picture_dir: picture_dir.to_owned(),
            series: BTreeMap::new(),
            zones: HashSet::new(),
        };
        let _: Vec<String> = side.call("Open", &()).await?;
        side.read_again().await?;
        Ok(side)
    }

    fn is_book(&self) -> bool {
        self.kind == SourceKind::AddressBook
    }

    /// Reads a calendar's records again.
    async fn read_again(&mut self) -> Result<(), SwitchError> {
        if !self.is_book() {
            let components: Vec<String> = self.call("GetObjectList", &("#t",)).await?;
            self.series = series_from_stock(&components);
        }
        Ok(())
    }

    /// Returns the UIDs of all records.
    pub(super) async fn uids(&self) -> Result<Vec<String>, SwitchError> {
        match self.is_book() {
            true => self.call("GetContactListUids", &("",)).await,
            false => Ok(self.series.keys().cloned().collect()),
        }
    }

    /// Returns a record as the store keeps it; `None` if there is none.
    pub(super) async fn text(&self, uid: &str) -> Result<Option<Vec<u8>>, SwitchError> {
        if !self.is_book() {
            return Ok(self.series.get(uid).cloned());
        }
        let card: Result<String, SwitchError> = self.call("GetContact", &(uid,)).await;
        match card {
            Ok(text) => Ok(Some(
                card_from_stock(&text, uid, &self.picture_dir)?.into_text(),
            )),
            Err(SwitchError::Eds(error))
                if error.name().contains("book_2dclient") && error.name().ends_with("Code1") =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the definition of a time zone, if the calendar or the system knows it.
    pub(super) async fn zone(&self, tzid: &str) -> Option<String> {
        self.call("GetTimezone", &(tzid,)).await.ok()
    }

    /// Adds a time zone to a calendar.
    pub(super) async fn add_zone(&mut self, definition: &str) -> Result<(), SwitchError> {
        let zone = TimeZoneDefinition::parse(definition.as_bytes());
        self.zones.insert(zone.name);
        self.call("AddTimezone", &(definition,)).await
    }

    /// Creates or replaces records. Returns the UIDs of records that the stock server has in other words than it was
    /// given.
    pub(super) async fn save(&mut self, records: &[Outgoing]) -> Result<Vec<String>, SwitchError> {
        match self.is_book() {
            true => self.save_cards(records).await?,
            false => self.save_series(records).await?,
        }
        let mut different = Vec::new();
        for Outgoing { uid, record, .. } in records {
            let saved = self.text(uid).await?.ok_or_else(|| {
                SwitchError::Refused(format!(
                    "the stock server does not have \"{uid}\" after it was saved there"
                ))
            })?;
            if digest(self.kind, &saved) != digest(self.kind, record.as_bytes()) {
                different.push(uid.clone());
            }
        }
        Ok(different)
    }

    async fn save_cards(&self, records: &[Outgoing]) -> Result<(), SwitchError> {
        let (mut new, mut known) = (Vec::new(), Vec::new());
        for card in records {
            match self.text(&card.uid).await? {
                Some(_) => known.push(card.record.as_str()),
                None => new.push(card.record.as_str()),
            }
        }
        if !new.is_empty() {
            let _: Vec<String> = self.call("CreateContacts", &(new, 0_u32)).await?;
        }
        if !known.is_empty() {
            self.call::<_, ()>("ModifyContacts", &(known, 0_u32))
                .await?;
        }
        Ok(())
    }

    async fn save_series(&mut self, records: &[Outgoing]) -> Result<(), SwitchError> {
        for record in records {
            let object = without_zones(&record.object, |name| self.zones.contains(name));
            self.call::<_, ()>("ReceiveObjects", &(object.as_str(), 0_u32))
                .await?;
        }
        self.read_again().await?;
        // The stock server adds instances, but forgets none that are gone.
        let mut gone: Vec<(&str, String)> = Vec::new();
        for Outgoing { uid, record, .. } in records {
            let wanted = changed_instances(record.as_bytes());
            let has = self.series.get(uid).map(|text| changed_instances(text));
            let extra = has.into_iter().flatten().filter(|id| !wanted.contains(id));
            gone.extend(extra.map(|id| (uid.as_str(), id)));
        }
        if !gone.is_empty() {
            self.call::<_, ()>("RemoveObjects", &(gone, ONLY_THIS, 0_u32))
                .await?;
            self.read_again().await?;
        }
        Ok(())
    }

    /// Removes records.
    pub(super) async fn remove(&mut self, uids: &[String]) -> Result<(), SwitchError> {
        if uids.is_empty() {
            return Ok(());
        }
        if self.is_book() {
            return self.call("RemoveContacts", &(uids, 0_u32)).await;
        }
        let all = "this:this-and-prior:this-and-future";
        let objects: Vec<(&str, &str)> = uids.iter().map(|uid| (uid.as_str(), "")).collect();
        self.call::<_, ()>("RemoveObjects", &(objects, all, 0_u32))
            .await?;
        self.read_again().await
    }

    async fn call<B, T>(&self, method: &str, body: &B) -> Result<T, SwitchError>
    where
        B: serde::Serialize + DynamicType,
        T: for<'d> serde::Deserialize<'d> + zbus::Type,
    {
        let interface = match self.is_book() {
            true => "org.gnome.evolution.dataserver.AddressBook",
            false => "org.gnome.evolution.dataserver.Calendar",
        };
        super::call_object(
            &self.connection,
            &self.bus_name,
            &self.path,
            interface,
            method,
            body,
        )
        .await
    }
}
