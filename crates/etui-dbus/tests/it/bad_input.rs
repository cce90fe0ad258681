//! Bad input over the bus: an error each time, bounded memory, and other clients unharmed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use etui_dbus::{BUS_NAME, STORE_PATH};
use etui_testkit::bus::{PrivateBus, private_memory};
use etui_testkit::wait::{LIMIT, PAUSE};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zbus::connection::Builder;
use zbus::message::Message;
use zbus::wire::{DynamicType, Type};
use zbus::{Connection, OwnedObjectPath, Variant, block_on};

use crate::process;

const COLLECTION: &str = "org.etui.Collection1";
const DBUS: &str = "org.freedesktop.DBus";

type Row = (u64, String, Vec<String>);
type Saved = Vec<(u64, String, String)>;
type Options = HashMap<&'static str, Variant<'static>>;

/// A bus with the service, and a client of its address book and its calendar.
struct Session {
    bus: PrivateBus,
    connection: Connection,
    book: String,
    calendar: String,
    service: u32,
}

impl Session {
    fn start() -> Self {
        let bus = process::start_bus();
        let connection = block_on(Builder::address(bus.address()).build()).unwrap();
        let mut session = Self {
            bus,
            connection,
            book: String::new(),
            calendar: String::new(),
            service: 0,
        };
        let first = |kind: &str| -> String {
            let all: Vec<(String, OwnedObjectPath, String)> = session
                .call(STORE_PATH, BUS_NAME, "Collections", &kind)
                .unwrap();
            all[0].1.to_string()
        };
        (session.book, session.calendar) = (first("contacts"), first("calendar"));
        session.service = process::of_service(&session.connection).unwrap();
        session
    }

    /// Calls a method; the error is its name, without the prefix of the service's own.
    fn call<B, T>(&self, path: &str, interface: &str, method: &str, body: &B) -> Result<T, String>
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
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
            Err(zbus::Error::MethodError(name, ..)) => {
                Err(name.as_str().replace("org.etui.Error1.", ""))
            }
            Err(zbus::Error::FDO(error)) => Err(zbus::DBusError::name(&*error).to_string()),
            Err(other) => panic!("{method}: {other}"),
        }
    }

    /// Calls a method of the address book.
    fn of_book<B, T>(&self, method: &str, body: &B) -> Result<T, String>
    where
        B: Serialize + DynamicType,
        T: Type + DeserializeOwned,
    {
        self.call(&self.book, COLLECTION, method, body)
    }

    /// A call of the address book as bytes, for a socket.
    fn message<B: Serialize + DynamicType>(&self, method: &str, body: &B) -> Message {
        Message::method_call(self.book.as_str(), method)
            .interface(COLLECTION)
            .destination(BUS_NAME)
            .build(body)
            .unwrap()
    }

    /// Connects a socket to the bus, which is not read.
    fn socket(&self) -> UnixStream {
        let mut socket = self.bus.connect_socket().unwrap();
        let hello = Message::method_call("/org/freedesktop/DBus", "Hello")
            .interface(DBUS)
            .destination(DBUS);
        socket.write_all(hello.build(&()).unwrap().data()).unwrap();
        socket
    }

    fn memory(&self) -> u64 {
        private_memory(self.service).unwrap()
    }

    /// Expects that a client is answered as ever.
    fn expect_answers(&self) {
        let missing = self.of_book::<_, (Row,)>("Get", &("nobody", vec!["name"]));
        assert_eq!(missing.unwrap_err(), "NotFound");
    }

    /// Asks as another client until a contact is there; returns the most memory that the service
    /// had.
    fn answered_until(&self, uid: &str) -> u64 {
        let mut peak = self.memory();
        // However long the work takes: each answer has its limit.
        loop {
            self.expect_answers();
            peak = peak.max(self.memory());
            let found = self.of_book::<_, (Row,)>("Get", &(uid, vec!["name"]));
            if found.is_ok() {
                return peak;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn card(uid: &str, note: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{uid}\r\nNOTE:{note}\r\nEND:VCARD\r\n")
}

/// The argument of `Save` for records without conditions.
fn saves(texts: Vec<String>) -> (Vec<(String, String)>, Options) {
    let records = texts.into_iter().map(|text| (text, String::new()));
    (records.collect(), Options::new())
}

/// Replies of 300 MB for a client on the bus that does not read one.
#[test]
fn a_client_that_never_reads_fills_no_memory_and_holds_up_nobody() {
    let session = Session::start();
    let note = "x".repeat(900_000);
    let large = saves(vec![card("large", &note)]);
    session.of_book::<_, Saved>("Save", &large).unwrap();
    let before = session.memory();
    let mut socket = session.socket();
    for n in 0..300 {
        let call = match n % 2 {
            0 => session.message("Get", &("large", vec!["card"])),
            _ => session.message("OpenView", &("", Options::new())),
        };
        socket.write_all(call.data()).unwrap();
        let columns = HashMap::from([("columns", Variant::from(vec!["card"]))]);
        let call = session.message("Query", &("", columns));
        socket.write_all(call.data()).unwrap();
    }
    let last = session.message("Save", &saves(vec![card("last", "")]));
    socket.write_all(last.data()).unwrap();
    let grown = session.answered_until("last").saturating_sub(before);
    println!("never read: {} MB more", grown >> 20);
    assert!(grown < 120 << 20, "{} MB more", grown >> 20);
}

/// A text of 100 MB, and 60 MB of cards in one call; more such calls than the service keeps.
#[test]
fn large_arguments_are_answered_and_fill_no_memory() {
    let session = Session::start();
    let text = "x".repeat(100_000_000);
    let missing = session.of_book::<_, (Row,)>("Get", &(&text, vec!["name"]));
    assert_eq!(missing.unwrap_err(), "NotFound");
    drop(text);
    let before = session.memory();
    let note = "x".repeat(1 << 20);
    let mut socket = session.socket();
    let long = std::env::var_os("ETUI_TEST_LONG").is_some();
    for call in 0..if long { 8 } else { 1 } {
        let cards = (0..57).map(|n| card(&format!("large-{call}-{n}"), &note));
        let call = session.message("Save", &saves(cards.collect()));
        socket.write_all(call.data()).unwrap();
    }
    let last = session.message("Save", &saves(vec![card("last", "")]));
    socket.write_all(last.data()).unwrap();
    // Calls of one client may overtake each other.
    let peak = session
        .answered_until("large-0-0")
        .max(session.answered_until("last"));
    let grown = peak.saturating_sub(before);
    println!("large arguments: {} MB more", grown >> 20);
    assert!(grown < 900 << 20, "{} MB more", grown >> 20);
    let uids: Vec<String> = (0..57).map(|n| format!("large-0-{n}")).collect();
    let body = (uids, vec!["uid"], Options::new());
    let (rows, missing): (Vec<Row>, Vec<String>) = session.of_book("GetMany", &body).unwrap();
    assert_eq!((rows.len(), missing.len()), (57, 0));
}

#[test]
fn filters_without_end_are_refused() {
    let session = Session::start();
    let deep = |open: &str, close: &str| {
        format!("{}name:x{}", open.repeat(100_000), close.repeat(100_000))
    };
    let filters = [
        deep("(", ")"),
        deep("not ", ""),
        deep("-", ""),
        "(".repeat(100_000),
        "name:someone or ".repeat(700_000),
        "name:someone ".repeat(800_000),
    ];
    for path in [&session.book, &session.calendar] {
        for filter in &filters {
            for method in ["Query", "QueryFd", "Explain", "OpenView"] {
                let body = (filter, Options::new());
                let answer = session.call::<_, OwnedObjectPath>(path, COLLECTION, method, &body);
                assert_eq!(answer.unwrap_err(), "BadFilter", "{method} {filter:.30}");
            }
        }
        session.expect_answers();
    }
}

#[test]
fn bad_records_and_bytes_are_refused_one_by_one() {
    let session = Session::start();
    let deep = "BEGIN:VCARD\r\n".repeat(100_000);
    for bad in ["", "BEGIN:VCARD", "END:VCARD", "FN:x", &deep] {
        let refused = session.of_book::<_, Saved>("Save", &saves(vec![bad.to_owned()]));
        assert_eq!(refused.unwrap_err(), "BadRecord", "{bad:.20}");
        let refused = session.call::<_, Saved>(
            &session.calendar,
            COLLECTION,
            "Save",
            &saves(vec![bad.replace("VCARD", "VEVENT")]),
        );
        assert_eq!(refused.unwrap_err(), "BadRecord", "{bad:.20}");
    }
    for token in [
        "",
        "x",
        "99999999999999999999999999",
        &"1".repeat(1_000_000),
    ] {
        let body = (token, Options::new());
        let refused = session.of_book::<_, OwnedObjectPath>("ChangesSince", &body);
        assert!(["BadArgument", "Resynchronise"].contains(&refused.unwrap_err().as_str()));
    }
    let many = saves(vec![String::new(); 100_001]);
    let refused = session.of_book::<_, Saved>("Save", &many);
    assert_eq!(refused.unwrap_err(), "TooLarge");
    // D-Bus has only UTF-8: the bus disconnects who sends other bytes, and nobody else notices.
    let message = session.message("Get", &("M\u{fc}ller", vec!["name"]));
    let mut bytes = message.data().to_vec();
    let at = bytes.windows(2).rposition(|two| two == "\u{fc}".as_bytes());
    bytes[at.unwrap()] = 0xff;
    let mut socket = session.socket();
    socket.write_all(&bytes).unwrap();
    let _ = socket.read_to_end(&mut Vec::new());
    session.expect_answers();
}

#[test]
fn unknown_objects_and_wrong_arguments_are_errors() {
    let session = Session::start();
    let error = |path: &str, interface: &str, method: &str| {
        session
            .call::<_, OwnedObjectPath>(path, interface, method, &())
            .unwrap_err()
    };
    let book = session.book.as_str();
    for path in [
        "/",
        "/org/etui/Store1/collection/99",
        "/org/etui/Store1/view/1",
    ] {
        assert_eq!(
            error(path, COLLECTION, "Token").replace("Object", "Interface"),
            format!("{DBUS}.Error.UnknownInterface")
        );
    }
    assert_eq!(
        error(book, "org.example.Nothing", "Get"),
        format!("{DBUS}.Error.UnknownInterface")
    );
    assert_eq!(
        error(book, COLLECTION, "Nothing"),
        format!("{DBUS}.Error.UnknownMethod")
    );
    for method in [
        "Get",
        "GetMany",
        "Raw",
        "Query",
        "Save",
        "Remove",
        "ChangesSince",
        "Import",
    ] {
        assert_eq!(
            error(book, COLLECTION, method),
            format!("{DBUS}.Error.InvalidArgs")
        );
        let wrong = session.of_book::<_, OwnedObjectPath>(method, &(7_u64, "x"));
        assert_eq!(
            wrong.unwrap_err(),
            format!("{DBUS}.Error.InvalidArgs"),
            "{method}"
        );
    }
    let removed = session.of_book::<_, ()>("Remove", &(vec![("nobody", "")], Options::new()));
    assert_eq!(removed.unwrap_err(), "NotFound");
    session.expect_answers();
}
