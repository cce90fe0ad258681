//! [`World`]: a store here, and the same collections on a server, behind a proxy.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use etui::Store;
use etui::calendar::CalendarObject;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::store::DeviceAccess;
use etui::sync::{AccountId, AccountSettings, Pair, PairSettings};
use etui_dav::client::{Address, RemoteKind};
use etui_sync::{
    HttpClient, HttpOptions, Login, PairReport, SyncError, SyncOptions, discover, sync_pair,
};
use etui_testkit::wait::wait_until;
use tempfile::TempDir;

use super::dav::Dav;
use super::proxy::Proxy;
use crate::client::{TestServer, add_device};

pub struct World<P> {
    pub proxy: Proxy,
    pub here: Store,
    pub there: P,
    pub account: AccountId,
    user: String,
    password: String,
    dir: TempDir,
    /// Held while it serves.
    _server: Option<TestServer>,
}

impl World<Store> {
    /// With a store that `etui serve` serves.
    pub fn served() -> Self {
        let server = TestServer::start();
        let password = add_device(&server.path("ada.etui"), "Laptop", &DeviceAccess::default());
        let there = Store::open(server.path("ada.etui")).unwrap();
        let address = server.address;
        let mut world = Self::new(there, address, "ada", &password);
        world._server = Some(server);
        world.add_account("/", |_| true);
        world
    }
}

impl World<Dav> {
    /// With two collections of a server, which are found from the address with the path `from`.
    pub fn with_server(there: Dav, from: &str) -> Self {
        let server = there.server.clone();
        let paths = [there.book.clone(), there.calendar.clone()];
        let mut world = Self::new(there, server.address, &server.user, &server.password);
        world.add_account(from, |path| paths.iter().any(|own| own == path));
        world
    }
}

impl<P> World<P> {
    fn new(there: P, server: SocketAddr, user: &str, password: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let here = Store::open(dir.path().join("here.etui")).unwrap();
        Self {
            proxy: Proxy::to(server),
            here,
            there,
            account: AccountId(0),
            user: user.to_owned(),
            password: password.to_owned(),
            dir,
            _server: None,
        }
    }

    /// Pairs the two collections whose paths are wanted.
    fn add_account(&mut self, from: &str, is_wanted: impl Fn(&str) -> bool) {
        let url = format!("http://{}{from}", self.proxy.address);
        let account = self.here.sync().add_account(&AccountSettings {
            name: "desktop".into(),
            url: url.clone(),
            user: self.user.clone(),
            secret: format!("command echo {}", self.password),
            ..AccountSettings::default()
        });
        self.account = account.unwrap();
        let found = discover(&self.client(), &Address::parse(&url).unwrap()).unwrap();
        let all = format!("{found:?}");
        let found = found
            .into_iter()
            .filter(|one| is_wanted(one.address.path()));
        for remote in found {
            let (kind, collection) = match remote.kind {
                RemoteKind::Contacts => (Card::KIND, self.here.contacts().unwrap().id()),
                RemoteKind::Calendar => (CalendarObject::KIND, self.here.calendar().unwrap().id()),
            };
            self.here
                .sync()
                .add_pair(&PairSettings {
                    account: self.account,
                    kind,
                    collection,
                    url: remote.address.to_string(),
                    direction: etui::sync::Direction::Both,
                    takes_v4: remote.takes_v4,
                })
                .unwrap();
        }
        assert_eq!(self.pairs().len(), 2, "{all}");
    }

    pub fn client(&self) -> HttpClient {
        let address = Address::parse(&format!("http://{}/", self.proxy.address)).unwrap();
        let login = Login::Basic {
            user: self.user.clone(),
            password: self.password.clone(),
        };
        HttpClient::new(&address, login, &HttpOptions::default()).unwrap()
    }

    pub fn pairs(&self) -> Vec<Pair> {
        self.here.sync().pairs(self.account).unwrap()
    }

    /// Syncs all pairs.
    pub fn sync(&self, allow_removals: u64) -> Result<Vec<PairReport>, SyncError> {
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

    /// Begins a run whose connection is cut after this number of bytes.
    pub fn sync_and_cut(&self, bytes: i64) {
        self.proxy.cut_after(bytes);
        let _cut = self.sync(1_000);
        self.proxy.mend();
    }

    /// Begins a run in a process, which is killed soon after this number of bytes.
    pub fn sync_and_kill(&self, bytes: i64) {
        self.proxy.watch(bytes);
        let mut child = Command::new(env!("CARGO_BIN_EXE_etui-serve"))
            .args(["sync", "--allow-removals", "1000", "--store"])
            .arg(self.here.path())
            .env("HOME", self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until("a run that comes to the place, or its end", || {
            self.proxy.is_spent() || child.try_wait().unwrap().is_some()
        });
        let _ended = child.kill();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{said}");
        self.proxy.mend();
    }
}
