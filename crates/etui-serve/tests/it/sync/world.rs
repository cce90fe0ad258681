//! [`World`]: a store here, and one that `etui serve` serves.

use std::collections::BTreeMap;

use etui::Store;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::resource::Resource;
use etui::store::{CollectionKey, DeviceAccess};
use etui::sync::{AccountId, AccountSettings, Pair, PairSettings};
use etui_dav::client::{Address, RemoteKind};
use etui_sync::{
    HttpClient, HttpOptions, Login, PairReport, SyncError, SyncOptions, discover, sync_pair,
};

use super::proxy::Proxy;
use crate::client::{TestServer, add_device};

pub struct World {
    /// Held while it serves.
    _server: TestServer,
    pub proxy: Proxy,
    pub here: Store,
    pub there: Store,
    pub account: AccountId,
    password: String,
}

impl World {
    pub fn new() -> Self {
        let server = TestServer::start();
        let password = add_device(&server.path("ada.etui"), "Laptop", &DeviceAccess::default());
        let there = Store::open(server.path("ada.etui")).unwrap();
        let here = Store::open(server.path("here.etui")).unwrap();
        let proxy = Proxy::to(server.address);
        let mut world = Self {
            account: AccountId(0),
            _server: server,
            proxy,
            here,
            there,
            password,
        };
        world.account = world.add_account();
        world
    }

    fn add_account(&self) -> AccountId {
        let url = format!("http://{}/", self.proxy.address);
        let account = self.here.sync().add_account(&AccountSettings {
            name: "desktop".into(),
            url: url.clone(),
            user: "ada".into(),
            ..AccountSettings::default()
        });
        let account = account.unwrap();
        let found = discover(&self.client(), &Address::parse(&url).unwrap()).unwrap();
        for remote in found {
            let (kind, collection) = match remote.kind {
                RemoteKind::Contacts => (Card::KIND, self.here.contacts().unwrap().id()),
                RemoteKind::Calendar => (CalendarObject::KIND, self.here.calendar().unwrap().id()),
            };
            self.here
                .sync()
                .add_pair(&PairSettings {
                    account,
                    kind,
                    collection,
                    url: remote.address.to_string(),
                    direction: etui::sync::Direction::Both,
                    takes_v4: remote.takes_v4,
                })
                .unwrap();
        }
        account
    }

    pub fn client(&self) -> HttpClient {
        let address = Address::parse(&format!("http://{}/", self.proxy.address)).unwrap();
        let login = Login::Basic {
            user: "ada".to_owned(),
            password: self.password.clone(),
        };
        HttpClient::new(&address, login, &HttpOptions::default()).unwrap()
    }

    pub fn pairs(&self) -> Vec<Pair> {
        self.here.sync().pairs(self.account).unwrap()
    }

    /// Syncs all pairs.
    pub fn sync(&self) -> Result<Vec<PairReport>, SyncError> {
        self.sync_with(0)
    }

    pub fn sync_with(&self, allow_removals: u64) -> Result<Vec<PairReport>, SyncError> {
        let client = self.client();
        let mut options = SyncOptions {
            account: "desktop",
            allow_removals,
            is_dry_run: false,
            progress: &mut |_, _| {},
        };
        let all = self.pairs();
        all.iter()
            .map(|pair| match pair.settings.kind == Card::KIND {
                true => sync_pair::<Card>(&self.here, &client, pair, &mut options),
                false => sync_pair::<CalendarObject>(&self.here, &client, pair, &mut options),
            })
            .collect()
    }
}

/// Returns the texts of a collection by UID.
pub fn texts<R: Resource>(store: &Store) -> BTreeMap<String, String> {
    let collection = store.collection::<R>(CollectionKey::Default).unwrap();
    let mut ids = Vec::new();
    let listed = collection.for_each_resource(|resource| {
        ids.push(resource.id);
        Ok(())
    });
    listed.unwrap();
    let mut all = BTreeMap::new();
    let read = collection.resources(ids, |_, resource| {
        let resource = resource.unwrap();
        let text = String::from_utf8(resource.bytes).unwrap();
        assert_eq!(all.insert(resource.uid, text), None, "a UID is there twice");
        Ok(())
    });
    read.unwrap();
    all
}

/// Returns every text that a store has of a kind: live, earlier, removed, and those that lost.
pub fn all_texts<R: Resource>(store: &Store) -> String {
    let collection = store.collection::<R>(CollectionKey::Default).unwrap();
    let mut all: Vec<String> = texts::<R>(store).into_values().collect();
    let live: Vec<String> = texts::<R>(store).into_keys().collect();
    let removed = collection.trash().unwrap();
    let removed = removed.into_iter().map(|removed| removed.uid);
    for uid in live.into_iter().chain(removed) {
        for version in collection.history(&uid).unwrap() {
            let record = collection.read_version(&version).unwrap();
            all.extend(record.map(|record| String::from_utf8_lossy(&record.text).into_owned()));
        }
    }
    for lost in store.refused().list().unwrap() {
        let text = store.refused().text(lost.id).unwrap().unwrap();
        all.push(String::from_utf8(text).unwrap());
    }
    all.concat()
}
