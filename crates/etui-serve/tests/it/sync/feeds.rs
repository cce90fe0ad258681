//! Subscriptions: calendars that are published as a file.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use etui::Store;
use etui::calendar::CalendarObject;
use etui::record::RecordKind;
use etui::resource::{ResourceCondition, ResourceKey};
use etui::sync::{AccountSettings, Direction, PairSettings};
use etui_dav::client::Address;
use etui_sync::{
    HttpClient, HttpOptions, Login, OtherSide, PairReport, SyncError, SyncOptions, read_feed,
    sync_pair,
};
use tempfile::TempDir;

use super::http::serve_http;
use super::place::texts;

/// The publisher's answer, and the conditions of requests.
#[derive(Default)]
struct Published {
    status: u16,
    headers: String,
    text: String,
    conditions: Vec<Option<String>>,
}

struct Subscription {
    published: Arc<Mutex<Published>>,
    url: String,
    here: Store,
    _dir: TempDir,
}

fn calendar(entries: &str) -> String {
    format!("BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:Matches\\, home\n{entries}END:VCALENDAR\n")
}

/// Entries with these lines before a title; `{n}` is their number.
fn matches(count: usize, lines: &str) -> String {
    (0..count).fold(String::new(), |mut all, n| {
        let lines = lines.replace("{n}", &n.to_string());
        write!(
            all,
            "BEGIN:VEVENT\n{lines}DTSTART:20261201T1{:02}000Z\nSUMMARY:Match {n}\nEND:VEVENT\n",
            n % 60
        )
        .unwrap();
        all
    })
}

const NAMED: &str = "UID:m{n}\nDTSTAMP:20261101T000000Z\n";

impl Subscription {
    fn to(text: String) -> Self {
        let published = Arc::new(Mutex::new(Published {
            status: 200,
            text,
            ..Published::default()
        }));
        let served = Arc::clone(&published);
        let address = serve_http(move |request| {
            let mut state = served.lock().unwrap();
            let condition = request.headers.get("if-none-match").cloned();
            let is_known =
                condition.is_some() && state.headers.contains(condition.as_ref().unwrap());
            state.conditions.push(condition);
            match is_known {
                true => (304, String::new(), String::new()),
                false => (state.status, state.headers.clone(), state.text.clone()),
            }
        });
        let dir = tempfile::tempdir().unwrap();
        let here = Store::open(dir.path().join("here.etui")).unwrap();
        let url = format!("http://{address}/matches.ics?key=1");
        let account = here.sync().add_account(&AccountSettings {
            name: "matches".into(),
            url: url.clone(),
            ..AccountSettings::default()
        });
        let pair = PairSettings {
            account: account.unwrap(),
            kind: CalendarObject::KIND,
            collection: here.calendar().unwrap().id(),
            url: url.clone(),
            direction: Direction::FromServer,
            takes_v4: false,
        };
        here.sync().add_pair(&pair).unwrap();
        Self {
            published,
            url,
            here,
            _dir: dir,
        }
    }

    fn client(&self) -> HttpClient {
        let address = Address::parse(&self.url).unwrap();
        HttpClient::new(&address, Login::None, &HttpOptions::default()).unwrap()
    }

    fn try_sync(&self, allow_removals: u64) -> Result<PairReport, SyncError> {
        let account = self.here.sync().accounts().unwrap().remove(0).id;
        let pair = self.here.sync().pairs(account).unwrap().remove(0);
        let mut options = SyncOptions {
            account: "matches",
            allow_removals,
            is_dry_run: false,
            progress: &mut |_, _| {},
        };
        let client = self.client();
        sync_pair::<CalendarObject>(&self.here, OtherSide::Feed(&client), &pair, &mut options)
    }

    fn sync(&self) -> PairReport {
        self.try_sync(0).unwrap()
    }

    fn publish(&self, status: u16, text: &str) {
        let mut state = self.published.lock().unwrap();
        (state.status, state.text) = (status, text.to_owned());
    }

    fn count(&self) -> usize {
        texts::<CalendarObject>(&self.here).len()
    }
}

#[test]
fn entries_come_change_and_go() {
    let feed = Subscription::to(calendar(&matches(30, NAMED)));
    let found = read_feed(&feed.client(), &Address::parse(&feed.url).unwrap()).unwrap();
    assert_eq!(
        (found.name.as_deref(), found.entries),
        (Some("Matches, home"), 30)
    );
    assert_eq!(feed.sync().added_here, 30);
    let text = calendar(&matches(29, NAMED)).replace("SUMMARY:Match 3\n", "SUMMARY:Moved\n");
    feed.publish(200, &text);
    let report = feed.sync();
    assert_eq!((report.changed_here, report.removed_here), (1, 1));
    assert!(texts::<CalendarObject>(&feed.here)["m3"].contains("SUMMARY:Moved"));
}

#[test]
fn one_that_is_not_a_whole_calendar_removes_nothing() {
    let whole = calendar(&matches(30, NAMED));
    let feed = Subscription::to(whole.clone());
    assert_eq!(feed.sync().added_here, 30);
    // Lines cut anywhere, another encoding of nothing, pages.
    let cuts = [1, 20, 60, 200, whole.len() / 2, whole.len() - 5].map(|at| whole[..at].to_owned());
    let pages = [
        "",
        "<!DOCTYPE html><title>Log in</title>",
        "{\"error\":1}",
        "\u{feff}<html>",
    ];
    for text in cuts.iter().map(String::as_str).chain(pages) {
        feed.publish(200, text);
        let error = feed.try_sync(1_000).unwrap_err();
        assert!(matches!(error, SyncError::Feed(..)), "{text:?}: {error}");
        assert_eq!(feed.count(), 30, "{text:?}");
    }
    for status in [301, 401, 403, 404, 410, 500, 502] {
        feed.publish(status, "no");
        assert!(feed.try_sync(1_000).is_err(), "{status}");
    }
    // A length that the text does not have.
    feed.publish(200, &whole);
    feed.published.lock().unwrap().headers =
        "Content-Length: 100000\r\nConnection: close\r\n".into();
    feed.publish(200, &calendar(&matches(1, NAMED)));
    assert!(feed.try_sync(1_000).is_err());
    feed.published.lock().unwrap().headers.clear();
    assert_eq!(feed.count(), 30);
    feed.publish(200, &whole);
    assert_eq!(feed.sync(), PairReport::default());
}

#[test]
fn one_that_suddenly_lists_nothing_half_or_others_removes_nothing_unless_allowed() {
    let feed = Subscription::to(calendar(&matches(40, NAMED)));
    feed.sync();
    let others = NAMED
        .replace("UID:m", "UID:other")
        .replace("UID", "DESCRIPTION:{n}\nUID");
    for entries in [String::new(), matches(20, NAMED), matches(40, &others)] {
        feed.publish(200, &calendar(&entries));
        let report = feed.sync();
        assert!(report.guard.is_some(), "{entries}");
        assert_eq!(feed.count(), 40);
    }
    feed.publish(200, &calendar(&matches(20, NAMED)));
    assert_eq!(feed.try_sync(20).unwrap().removed_here, 20);
}

#[test]
fn one_that_did_not_change_is_not_sent_again() {
    let feed = Subscription::to(calendar(&matches(3, NAMED)));
    feed.published.lock().unwrap().headers = "ETag: \"7\"\r\n".to_owned();
    feed.sync();
    // A change here: nothing is sent, and nothing of the feed is taken for gone.
    let calendar = feed.here.calendar().unwrap();
    let text = texts::<CalendarObject>(&feed.here)["m1"].replace("Match 1", "Mine");
    let found = calendar.resource(ResourceKey::Uid("m1")).unwrap().unwrap();
    calendar
        .put_resource(&found.name, text.as_bytes(), &ResourceCondition::Always)
        .unwrap();
    assert_eq!(feed.sync(), PairReport::default());
    let asked = feed.published.lock().unwrap().conditions.clone();
    assert_eq!(asked, [None, Some("\"7\"".to_owned())]);
    assert!(texts::<CalendarObject>(&feed.here)["m1"].contains("Mine"));
}

#[test]
fn entries_without_uid_or_with_new_ones_each_time_stay_the_same() {
    for lines in [
        "DTSTAMP:2026110{day}T000000Z\n",
        "UID:{n}-{day}\nDTSTAMP:2026110{day}T000000Z\nLAST-MODIFIED:2026110{day}T000000Z\n",
    ] {
        let text = |day: &str| calendar(&matches(30, &lines.replace("{day}", day)));
        let feed = Subscription::to(text("1"));
        assert_eq!(feed.sync().added_here, 30);
        let before = texts::<CalendarObject>(&feed.here);
        feed.publish(200, &text("2"));
        assert_eq!(feed.sync(), PairReport::default(), "{lines}");
        assert_eq!(texts::<CalendarObject>(&feed.here), before);
        // What changed of one is taken, whatever its UID.
        feed.publish(
            200,
            &text("3").replace("SUMMARY:Match 7\n", "SUMMARY:Moved\n"),
        );
        let report = feed.sync();
        assert_eq!(report.added_here + report.changed_here, 1, "{lines}");
        assert_eq!(feed.count(), 30);
    }
}

#[test]
fn zones_and_changed_instances_belong_to_their_entries() {
    let zone = |name: &str| {
        format!(
            "BEGIN:VTIMEZONE\nTZID:{name}\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0100\n\
             TZOFFSETTO:+0100\nEND:STANDARD\nEND:VTIMEZONE\n"
        )
    };
    let event = |uid: &str, lines: &str| {
        format!(
            "BEGIN:VEVENT\nUID:{uid}\nDTSTAMP:20261101T000000Z\n{lines}\nSUMMARY:{uid}\nEND:VEVENT\n"
        )
    };
    let text = calendar(&format!(
        "{}{}{}{}{}",
        zone("Here; there"),
        zone("Unused"),
        event(
            "a",
            "DTSTART;TZID=\"Here; there\":20261201T100000\nRRULE:FREQ=DAILY;COUNT=3"
        ),
        event("b", "DTSTART:20261201T100000Z"),
        event(
            "a",
            "DTSTART;TZID=\"Here; there\":20261202T110000\nRECURRENCE-ID;TZID=\"Here; there\":20261202T100000"
        ),
    ));
    let feed = Subscription::to(text);
    assert_eq!(feed.sync().added_here, 2);
    let all = texts::<CalendarObject>(&feed.here);
    assert!(
        all["a"].contains("TZID:Here; there") && !all["a"].contains("Unused"),
        "{}",
        all["a"]
    );
    assert_eq!(all["a"].matches("BEGIN:VEVENT").count(), 2);
    assert!(!all["b"].contains("VTIMEZONE"));
}
