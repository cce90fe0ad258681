//! Profiles that are handed out once.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use etui_serve::ProfileOffer;

use crate::client::{Answer, TestServer};

const PROFILE: &[u8] = b"<plist>with a password</plist>";

/// Returns the files of offers in a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap());
    let is_offer = |path: &PathBuf| path.to_str().unwrap().contains(".etui-profile-");
    entries.map(|entry| entry.path()).filter(is_offer).collect()
}

fn get(server: &TestServer, path: &str) -> Answer {
    server.stranger().get(path)
}

/// Sets the time at which an offer expires.
fn set_end(file: &Path, end: SystemTime) {
    let mut bytes = std::fs::read(file).unwrap();
    let end = end
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    bytes[..8].copy_from_slice(&end.to_be_bytes());
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_profile_is_handed_out_once_without_a_password() {
    let server = TestServer::start();
    let directory = server.dir.path();
    let offer = ProfileOffer::put(directory, PROFILE).unwrap();
    let left = offer.until.duration_since(SystemTime::now()).unwrap();
    assert!(left <= Duration::from_secs(600), "{left:?}");
    // The file shows neither the profile nor its address, and only its owner can read it.
    let found = files(directory);
    let [file] = found.as_slice() else {
        panic!("{found:?}")
    };
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let bytes = std::fs::read(file).unwrap();
    assert!(!bytes.windows(8).any(|at| at == b"password"));
    let secret = offer
        .path
        .strip_prefix("/profile/")
        .unwrap()
        .strip_suffix(".mobileconfig")
        .unwrap();
    assert!(!file.to_str().unwrap().contains(secret));
    // A look at its head is not the one download.
    let head = server.stranger().ask("HEAD", &offer.path, "");
    assert_eq!((head.status, head.header("allow")), (405, Some("GET")));
    let answer = get(&server, &offer.path);
    assert_eq!((answer.status, answer.body.as_slice()), (200, PROFILE));
    assert_eq!(
        answer.header("content-type"),
        Some("application/x-apple-aspen-config")
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(files(directory), [""; 0].map(PathBuf::from));
    assert_eq!(get(&server, &offer.path).status, 404);
    // The log has no address of it.
    server.wait_for_log("no-profile");
    assert!(!server.log.lock().unwrap().concat().contains(secret));
}

#[test]
fn of_many_requests_one_gets_it() {
    let server = TestServer::start();
    let offer = ProfileOffer::put(server.dir.path(), PROFILE).unwrap();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| get(&server, &offer.path).status))
            .collect();
        asked
            .into_iter()
            .map(|asked| asked.join().unwrap())
            .collect()
    });
    let got = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(got, 1, "{statuses:?}");
    assert!(
        statuses.iter().all(|status| matches!(status, 200 | 404)),
        "{statuses:?}"
    );
}

#[test]
fn the_end_of_the_address_may_be_left_out_and_letters_may_be_small() {
    let server = TestServer::start();
    let offer = ProfileOffer::put(server.dir.path(), PROFILE).unwrap();
    let path = offer.path.strip_suffix(".mobileconfig").unwrap();
    let secret = path
        .strip_prefix("/profile/")
        .unwrap()
        .replace('-', "")
        .to_lowercase();
    assert_eq!(get(&server, &format!("/profile/{secret}")).body, PROFILE);
}

#[test]
fn expired_and_damaged_ones_are_not_handed_out() {
    let server = TestServer::start();
    let directory = server.dir.path();
    let now = SystemTime::now();
    let put = || {
        let offer = ProfileOffer::put(directory, PROFILE).unwrap();
        (offer.path, files(directory).pop().unwrap())
    };
    // Its time is over, or so far away that the clock was set back.
    for end in [
        now - Duration::from_secs(1),
        now + Duration::from_secs(3600),
    ] {
        let (path, file) = put();
        set_end(&file, end);
        assert_eq!(get(&server, &path).status, 404);
        assert!(!file.exists());
    }
    // A time that somebody moved: it is sealed with the profile.
    let (path, file) = put();
    set_end(&file, now + Duration::from_secs(60));
    assert_eq!(get(&server, &path).status, 404);
    assert!(!file.exists());
    for length in [0, 7, 8, 30] {
        let (path, file) = put();
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..length]).unwrap();
        assert_eq!(get(&server, &path).status, 404, "{length}");
        assert!(!file.exists(), "{length}");
    }
    // An old one goes when another is offered, and when a server starts.
    let (_, file) = put();
    set_end(&file, now - Duration::from_secs(1));
    let (path, other) = put();
    assert!(!file.exists() || file == other);
    assert_eq!(get(&server, &path).body, PROFILE);
}

#[test]
fn guesses_are_refused_and_slowed_down() {
    let server = TestServer::start_with(|options| {
        options.limits.wrong_passwords = 3;
        options.limits.refusal = Duration::ZERO;
        options.limits.wrong_password_wait = Duration::from_millis(700);
    });
    let offer = ProfileOffer::put(server.dir.path(), PROFILE).unwrap();
    let other = ProfileOffer::put(tempfile::tempdir().unwrap().path(), PROFILE).unwrap();
    let paths = [
        other.path.as_str(),
        "/profile/",
        "/profile/.mobileconfig",
        "/profile/../personal.etui",
        "/profile/%2e%2e%2fada.etui",
        "/profile/AAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAA",
    ];
    let begun = std::time::Instant::now();
    for path in paths {
        let answer = get(&server, path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.text().contains("plist"), "{path}");
    }
    // The fourth and the further ones waited: no less than that, however busy the machine is.
    assert!(begun.elapsed() >= Duration::from_millis(3 * 700));
    server.wait_for_log("127.0.0.1");
    // Whoever knows it does not wait for them.
    assert_eq!(get(&server, &offer.path).body, PROFILE);
    // Something similar is none.
    assert_eq!(get(&server, "/profile").status, 401);
}

#[test]
fn the_devices_of_a_directory_of_stores_are_served_too() {
    let dir = tempfile::tempdir().unwrap();
    let password = crate::client::add_device(
        &dir.path().join("ada.etui"),
        "Phone",
        &etui::store::DeviceAccess::default(),
    );
    let directory = dir.path().to_owned();
    let server = TestServer::start_in(dir, password, |options| {
        options.source = etui_serve::StoreSource::Users(directory.clone());
    });
    let store = directory.join("ada.etui");
    let offer = ProfileOffer::put(&etui_serve::offers_beside(&store), PROFILE).unwrap();
    assert_eq!(get(&server, &offer.path).body, PROFILE);
    // The principal that profiles name is each user's own.
    let answer = server.client().ask("PROPFIND", "/dav/me/", "");
    assert_eq!(
        (answer.status, answer.header("location")),
        (301, Some("/dav/ada/me/"))
    );
    assert_eq!(
        server.client().ask("PROPFIND", "/dav/ada/me/", "").status,
        207
    );
}
