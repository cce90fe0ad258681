//! SOGo, with a PostgreSQL of its own. It serves HTTP by itself; its users are in a table.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use etui_testkit::wait::wait_until;
use rustix::process::Signal;

use super::{PASSWORD, Process, Product, USER, as_user, free_address, run, server};

pub fn sogo() -> Product {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    // Two accounts have folders in it.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, owner) in [("db", "postgres"), ("sogo", "sogo")] {
        fs::create_dir(path(name)).unwrap();
        if rustix::process::geteuid().is_root() {
            run(Command::new("chown").args([owner, &path(name)]), "");
        }
    }
    let (database, memcached, http) = (free_address(), free_address(), free_address());
    let programs = postgres_programs();
    let mut init = as_user("postgres", &format!("{programs}/initdb"));
    run(
        init.args(["-D", &path("db"), "-A", "trust", "-U", "sogo", "--no-sync"]),
        "",
    );
    let port = database.port().to_string();
    let mut command = as_user("postgres", &format!("{programs}/postgres"));
    command
        .args(["-D", &path("db"), "-h", "127.0.0.1", "-p", &port])
        .args(["-k", &path("db"), "-F"]);
    let postgres = Process::start(&mut command, &dir, "log-db", database, Signal::INT);
    // It listens before it is ready.
    wait_until("PostgreSQL answers", || {
        let mut ready = Command::new(format!("{programs}/pg_isready"));
        let ready = ready.args(["-q", "-h", "127.0.0.1", "-p", &port]);
        ready.status().unwrap().success()
    });
    let mut psql = Command::new(format!("{programs}/psql"));
    psql.args([
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        "127.0.0.1",
        "-p",
        &port,
    ])
    .args(["-U", "sogo", "postgres"]);
    let users = format!(
        "CREATE TABLE users (c_uid text PRIMARY KEY, c_name text, c_password text, c_cn text, mail text);\n\
         INSERT INTO users VALUES ('{USER}', '{USER}', '{PASSWORD}', 'Ada', '{USER}@example.org');\n"
    );
    run(&mut psql, &users);

    let mut command = as_user("nobody", "memcached");
    command.args(["-l", "127.0.0.1", "-p", &memcached.port().to_string()]);
    let cache = Process::start(&mut command, &dir, "log-cache", memcached, Signal::KILL);

    let url = |table: &str| format!("postgresql://sogo@{database}/postgres/{table}");
    let mut command = as_user("sogo", "/usr/sbin/sogod");
    command.env("HOME", path("sogo"));
    let own = [
        ("WOPort", http.to_string()),
        ("WOLogFile", "-".to_owned()),
        ("WONoDetach", "YES".to_owned()),
        ("WOPidFile", path("sogo/pid")),
        ("WOWorkersCount", "2".to_owned()),
        ("SOGoMemcachedHost", memcached.to_string()),
        ("SOGoProfileURL", url("sogo_user_profile")),
        ("OCSFolderInfoURL", url("sogo_folder_info")),
        ("OCSSessionsFolderURL", url("sogo_sessions_folder")),
        ("OCSEMailAlarmsFolderURL", url("sogo_alarms_folder")),
        ("SOGoTimeZone", "UTC".to_owned()),
        ("SOGoCalendarDefaultRoles", "()".to_owned()),
        (
            "SOGoUserSources",
            format!(
                "({{type = sql; id = users; viewURL = \"{}\"; canAuthenticate = YES; isAddressBook = NO; \
                 userPasswordAlgorithm = plain;}})",
                url("users")
            ),
        ),
    ];
    for (name, value) in own {
        command.arg(format!("-{name}")).arg(value);
    }
    let process = Process::start(&mut command, &dir, "log", http, Signal::TERM);
    let home = format!("/SOGo/dav/{USER}/");
    Product {
        server: server(http),
        discovery: home.clone(),
        homes: [format!("{home}Contacts/"), format!("{home}Calendar/")],
        has_vdirsyncer: false,
        _processes: vec![process, cache, postgres],
        _dir: dir,
    }
}

/// Returns the folder of the newest PostgreSQL; Debian has them outside of PATH.
fn postgres_programs() -> String {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let all = versions.map(|version| version.unwrap().path().join("bin"));
    let found = all.filter(|path| path.join("initdb").exists()).max();
    let found = found.unwrap_or_else(|| panic!("there is no PostgreSQL; see scripts/need"));
    found.display().to_string()
}
