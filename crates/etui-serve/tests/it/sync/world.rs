//! [`World`]: a store here, and the same collections on a server, behind a proxy.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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
    /// The store of the other computer, if a pipe to a program is the connection, as over ssh.
    piped: Option<PathBuf>,
    _there: Option<TempDir>,
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

impl World<Store> {
    /// With the store of another computer, which a program serves on a pipe.
    pub fn piped() -> Self {
        let there = tempfile::tempdir().unwrap();
        let path = there.path().join("desktop.etui");
        let store = Store::open(&path).unwrap();
        // Nothing listens there.
        let mut world = Self::new(store, ([127, 0, 0, 1], 9).into(), "", "");
        world.piped = Some(path);
        world._there = Some(there);
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
            piped: None,
            _there: None,
            _server: None,
        }
    }

    /// Pairs the two collections whose paths are wanted.
    fn add_account(&mut self, from: &str, is_wanted: impl Fn(&str) -> bool) {
        let address = match &self.piped {
            Some(_) => "pipe".to_owned(),
            None => self.proxy.address.to_string(),
        };
        let url = format!("http://{address}{from}");
        let (given, secret) = match &self.piped {
            Some(_) => ("ssh://desktop".to_owned(), "none".to_owned()),
            None => (url.clone(), format!("command echo {}", self.password)),
        };
        let account = self.here.sync().add_account(&AccountSettings {
            name: "desktop".into(),
            url: given,
            user: self.user.clone(),
            secret,
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

    /// Returns the program that serves on a pipe; what it answers ends after a number of bytes.
    fn pipe(store: &Path, bytes: i64, then: &str) -> Vec<String> {
        // dd passes on each byte at once, as head does not.
        let passed = match bytes < i64::MAX / 2 {
            true => format!("dd bs=1 count={bytes} status=none"),
            false => "cat".to_owned(),
        };
        // The shell keeps no end of the pipes, so that the client sees the cut.
        let script = format!(
            "exec 3>&1 4<&0 >/dev/null\n\
             \"$0\" --store \"$1\" --stdio <&4 3>&- 4<&- | {{ {passed} >&3; exec 3>&-; {then}; }} 4<&- &\n\
             exec 3>&- 4<&-\nwait"
        );
        let words = ["sh", "-c", &script, env!("CARGO_BIN_EXE_etui-serve")];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.push(store.to_str().unwrap().to_owned());
        words
    }

    fn client_with(&self, bytes: i64) -> HttpClient {
        match &self.piped {
            Some(store) => {
                let options = HttpOptions {
                    command: Some(Self::pipe(store, bytes, ":")),
                    ..HttpOptions::default()
                };
                let address = Address::parse("http://pipe/").unwrap();
                HttpClient::new(&address, Login::None, &options).unwrap()
            }
            None => self.client(),
        }
    }

    pub fn client(&self) -> HttpClient {
        if self.piped.is_some() {
            return self.client_with(i64::MAX / 2);
        }
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
        self.sync_by(&self.client(), allow_removals)
    }

    fn sync_by(
        &self,
        client: &HttpClient,
        allow_removals: u64,
    ) -> Result<Vec<PairReport>, SyncError> {
        let mut options = SyncOptions {
            account: "desktop",
            allow_removals,
            is_dry_run: false,
            progress: &mut |_, _| {},
        };
        let all = self.pairs();
        all.iter()
            .map(|pair| match pair.settings.kind == Card::KIND {
                true => sync_pair::<Card>(&self.here, client, pair, &mut options),
                false => sync_pair::<CalendarObject>(&self.here, client, pair, &mut options),
            })
            .collect()
    }

    /// Begins a run whose connection is cut after this number of bytes.
    pub fn sync_and_cut(&self, bytes: i64) {
        self.proxy.cut_after(bytes);
        let _cut = self.sync_by(&self.client_with(bytes), 1_000);
        self.proxy.mend();
    }

    /// Begins a run in a process, which is killed soon after this number of bytes.
    pub fn sync_and_kill(&self, bytes: i64) {
        self.proxy.watch(bytes);
        if let Some(store) = &self.piped {
            return self.kill_by_pipe(store, bytes);
        }
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

    /// Begins a run in a process, which the program at the other end of its pipe kills.
    fn kill_by_pipe(&self, store: &Path, bytes: i64) {
        let ssh = self.dir.path().join("ssh");
        let words = Self::pipe(
            store,
            bytes,
            "grep -q sync /proc/$PPID/cmdline && kill -9 $PPID",
        );
        let script = format!(
            "#!/bin/sh\nset -- '{}' '{}'\n{}\n",
            words[3], words[4], words[2]
        )
        .replace("$1", "$2")
        .replace("$0", "$1");
        std::fs::write(&ssh, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&ssh, mode).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_etui-serve"))
            .args(["sync", "--allow-removals", "1000", "--store"])
            .arg(self.here.path())
            .env("HOME", self.dir.path())
            .env("ETUI_SSH", &ssh)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{said}");
        self.proxy.mend();
    }
}
