//! The service is killed while two clients write, and the bus starts it again: nothing acknowledged
//! is missing, and a third client goes on from its change token.
//!
//! ```text
//! ETUI_KILLS=20   number of kills (8; 100 with ETUI_TEST_LONG=1)
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use etui_dbus::{BUS_NAME, STORE_PATH};
use etui_testkit::rng::SplitMix64;
use etui_testkit::wait::{LIMIT, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zbus::connection::Builder;
use zbus::wire::{DynamicType, Type};
use zbus::{Connection, OwnedObjectPath, Variant, block_on};

use crate::process;

const COLLECTION: &str = "org.etui.Collection1";
/// Records of one writer; above this it creates none.
const MAX_RECORDS: usize = 30;

/// A record on the wire.
type Row = (u64, String, Vec<String>);
/// ETag and text of records, by UID.
type Records = BTreeMap<String, (String, String)>;

/// Returns the number of kills.
fn kills() -> u32 {
    match std::env::var("ETUI_KILLS") {
        Ok(kills) => kills.parse().expect("ETUI_KILLS is a number"),
        Err(_) if std::env::var_os("ETUI_TEST_LONG").is_some() => 100,
        Err(_) => 8,
    }
}

/// The service ended before it answered: the effect of the call is not known.
#[derive(Debug)]
struct Lost;

/// A client of the first address book.
struct Client {
    connection: Connection,
    book: String,
}

impl Client {
    fn connect(address: &str) -> Self {
        let connection = block_on(Builder::address(address).build()).unwrap();
        let mut client = Self {
            connection,
            book: String::new(),
        };
        let all: Vec<(String, OwnedObjectPath, String)> =
            client.call_again(STORE_PATH, BUS_NAME, "Collections", &"contacts");
        client.book = all[0].1.to_string();
        client
    }

    /// Calls a method. Any refusal fails the test, and so does silence.
    fn call<B, T>(&self, path: &str, interface: &str, method: &str, body: &B) -> Result<T, Lost>
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
        use zbus::fdo::Error::*;
        let call = self
            .connection
            .call_method(Some(BUS_NAME), path, Some(interface), method, body);
        let reply = block_on(async {
            let runtime = zruntime::SharedRuntime::current().unwrap();
            let reply = runtime.timeout(LIMIT, call).await;
            reply.unwrap_or_else(|_| panic!("{method}: no answer"))
        });
        match reply {
            Ok(reply) => Ok(reply.body().deserialize().unwrap()),
            Err(zbus::Error::FDO(error))
                if matches!(
                    *error,
                    NoReply(_) | ServiceUnknown(_) | SpawnChildExited(_) | SpawnChildSignaled(_)
                ) =>
            {
                Err(Lost)
            }
            Err(error) => panic!("{method}: {error}"),
        }
    }

    /// Repeats a call without effects until it is answered.
    fn call_again<B, T>(&self, path: &str, interface: &str, method: &str, body: &B) -> T
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
        wait_for("the service comes back", || {
            self.call(path, interface, method, body).ok()
        })
    }

    /// Returns the records whose UIDs begin with a prefix.
    fn records(&self, prefix: &str) -> Records {
        let columns = vec!["uid", "card"];
        let options = HashMap::from([("columns", Variant::from(columns))]);
        let (rows, _, _): (Vec<Row>, String, u64) =
            self.call_again(&self.book, COLLECTION, "Query", &("", options));
        rows.into_iter()
            .filter(|(_, _, values)| values[0].starts_with(prefix))
            .map(|(_, etag, mut values)| {
                let text = values.pop().unwrap();
                (values.remove(0), (etag, text))
            })
            .collect()
    }
}

/// The counts of a writer.
#[derive(Default)]
struct Counts {
    acknowledged: AtomicU64,
    lost: AtomicU64,
    landed: AtomicU64,
}

/// Saves and removes records with conditions until it is stopped. After each lost answer, and at
/// the end, the store has exactly what was acknowledged.
fn write(client: &Client, name: &str, mut rng: SplitMix64, counts: &Counts, stop: &AtomicBool) {
    let mut records = Records::new();
    let mut number = 0_u64;
    while !stop.load(Ordering::Acquire) {
        let mut after = records.clone();
        let first = rng.below(records.len() as u32) as usize;
        let old = || records.iter().skip(first).take(2);
        let sent = if rng.chance(250) && records.len() > 5 {
            let removals: Vec<(&str, &str)> = old()
                .map(|(uid, (etag, _))| (uid.as_str(), etag.as_str()))
                .collect();
            after.retain(|uid, _| removals.iter().all(|(removed, _)| removed != uid));
            let body = (removals, HashMap::<&str, Variant<'_>>::new());
            client.call::<_, ()>(&client.book, COLLECTION, "Remove", &body)
        } else {
            let mut saves: Vec<(String, String)> = Vec::new();
            if records.len() < MAX_RECORDS {
                number += 1;
                let uid = format!("{name}-{number:06}");
                saves.push((card(&uid, number, &mut rng), "absent".to_owned()));
            }
            for (uid, (etag, _)) in old() {
                number += 1;
                saves.push((card(uid, number, &mut rng), etag.clone()));
            }
            for (text, _) in &saves {
                after.insert(uid_of(text), (String::new(), text.clone()));
            }
            let body = (saves, HashMap::<&str, Variant<'_>>::new());
            let saved = client.call(&client.book, COLLECTION, "Save", &body);
            saved.map(|saved: Vec<(u64, String, String)>| {
                for (_, uid, etag) in saved {
                    after.get_mut(&uid).unwrap().0 = etag;
                }
            })
        };
        match sent {
            Ok(()) => {
                records = after;
                counts.acknowledged.fetch_add(1, Ordering::AcqRel);
            }
            Err(Lost) => {
                let stored = client.records(&format!("{name}-"));
                counts.lost.fetch_add(1, Ordering::AcqRel);
                if texts(&stored).eq(texts(&after)) {
                    counts.landed.fetch_add(1, Ordering::AcqRel);
                } else {
                    assert_eq!(stored, records, "{name}: neither all nor nothing of a call");
                }
                records = stored;
            }
        }
    }
    assert_eq!(client.records(&format!("{name}-")), records, "{name}");
}

fn texts(records: &Records) -> impl Iterator<Item = (&String, &String)> {
    records.iter().map(|(uid, (_, text))| (uid, text))
}

fn card(uid: &str, number: u64, rng: &mut SplitMix64) -> String {
    let note = "x".repeat(rng.below(2_000) as usize);
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:Version {number}\r\nNOTE:{note}\r\nEND:VCARD\r\n"
    )
}

fn uid_of(text: &str) -> String {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix("UID:"))
        .unwrap()
        .to_owned()
}

/// Follows the book from a token until the end is announced; returns what it holds.
fn follow(client: &Client, mut token: String, end: &AtomicBool) -> (Records, u64) {
    let mut held = Records::new();
    let mut pages = 0;
    loop {
        let is_end = end.load(Ordering::Acquire);
        let options = HashMap::from([("limit", Variant::from(7_u64))]);
        let (changes, next, more): (Vec<(String, String, u64)>, String, bool) =
            client.call_again(&client.book, COLLECTION, "ChangesSince", &(&token, options));
        let uids: Vec<&str> = changes.iter().map(|(uid, _, _)| uid.as_str()).collect();
        let body = (
            uids,
            vec!["uid", "card"],
            HashMap::<&str, Variant<'_>>::new(),
        );
        let (found, missing): (Vec<Row>, Vec<String>) =
            client.call_again(&client.book, COLLECTION, "GetMany", &body);
        for (_, etag, values) in found {
            held.insert(values[0].clone(), (etag, values[1].clone()));
        }
        for uid in missing {
            held.remove(&uid);
        }
        token = next;
        pages += u64::from(!changes.is_empty());
        // The last page was asked for after the end.
        if is_end && !more {
            return (held, pages);
        }
        if changes.is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn nothing_acknowledged_is_missing_after_kills() {
    let bus = process::start_bus();
    let client = Client::connect(bus.address());
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let (stop, end) = (AtomicBool::new(false), AtomicBool::new(false));
    let counts = [Counts::default(), Counts::default()];
    let killed = thread::scope(|scope| {
        let token = client.call_again(STORE_PATH, BUS_NAME, "Token", &());
        let follower = {
            let (follower, end) = (Client::connect(bus.address()), &end);
            scope.spawn(move || follow(&follower, token, end))
        };
        let writers: Vec<_> = ["ann", "bob"]
            .into_iter()
            .zip(&counts)
            .zip(0..)
            .map(|((name, counts), number)| {
                let (writer, stop) = (Client::connect(bus.address()), &stop);
                let rng = SplitMix64::stream(seed, number);
                scope.spawn(move || write(&writer, name, rng, counts, stop))
            })
            .collect();
        let mut rng = SplitMix64::stream(seed, 99);
        let mut killed: Vec<u32> = Vec::new();
        for round in 0..kills() {
            // Every third kill comes while the service starts; the others between answers.
            let acknowledged = || {
                counts
                    .each_ref()
                    .map(|c| c.acknowledged.load(Ordering::Acquire))
            };
            let before = acknowledged();
            let process = wait_for("the service is back", || {
                assert!(writers.iter().all(|writer| !writer.is_finished()));
                let is_served = acknowledged()
                    .iter()
                    .zip(&before)
                    .all(|(now, old)| now > old);
                if !is_served && round % 3 != 2 {
                    return None;
                }
                let process = process::of_service(&client.connection)?;
                (killed.last() != Some(&process)).then_some(process)
            });
            // At a random moment, not after something.
            thread::sleep(Duration::from_millis(u64::from(rng.below(80))));
            let pid = i32::try_from(process).unwrap();
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
            killed.push(process);
        }
        stop.store(true, Ordering::Release);
        for writer in writers {
            writer.join().unwrap();
        }
        end.store(true, Ordering::Release);
        let (held, pages) = follower.join().unwrap();
        assert!(held.len() > 3, "{held:?}");
        assert_eq!(
            held,
            client.records(""),
            "what was followed and what is stored"
        );
        assert!(pages > u64::from(kills()), "{pages} pages of changes");
        killed.len()
    });
    let store = etui::Store::open(process::store(&bus)).unwrap();
    let report = store.check().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let sum = |count: fn(&Counts) -> &AtomicU64| -> u64 {
        counts
            .iter()
            .map(|c| count(c).load(Ordering::Acquire))
            .sum()
    };
    let lost = sum(|c| &c.lost);
    println!(
        "{killed} kills: {} calls acknowledged, {lost} lost ({} of these saved), {} contacts at the end",
        sum(|c| &c.acknowledged),
        sum(|c| &c.landed),
        report.contacts
    );
    assert!(lost > 0, "no kill interrupted a call");
}
