//! Calls that no client library sends: bytes that are not UTF-8, bad cards, deep queries, unknown
//! objects, wrong arguments.

use std::io::{Read, Write};

use zbus::message::Message;

use super::session::Session;
use super::session::Source::{self, Book, Calendar};

const DBUS: &str = "org.freedesktop.DBus.Error";

/// Returns the name of the error of a call.
fn refusal<B>(session: &Session, source: Source, method: &str, body: &B) -> String
where
    B: serde::Serialize + zbus::DynamicType,
{
    let target = (source.bus_name(), session.path(source), source.interface());
    match session.try_call(target, method, body) {
        Err(name) => name,
        Ok(_) => panic!("{method} was not refused"),
    }
}

/// D-Bus has only UTF-8: the bus disconnects who sends other bytes, and nobody else notices.
#[test]
fn a_message_that_is_not_utf_8_ends_its_client_alone() {
    let Some(session) = Session::start() else {
        return;
    };
    for (source, method) in [(Book, "GetContact"), (Calendar, "AddTimezone")] {
        let mut socket = session.socket();
        let message = session.message(source, method, &"M\u{fc}ller");
        let mut bytes = message.data().to_vec();
        let at = bytes.windows(2).rposition(|two| two == "\u{fc}".as_bytes());
        bytes[at.unwrap()] = 0xff;
        socket.write_all(&bytes).unwrap();
        let mut rest = Vec::new();
        // It is the end of the connection, after the reply to `Hello`.
        let _ = socket.read_to_end(&mut rest);
        session.expect_answers();
    }
}

#[test]
fn cards_that_decode_badly_are_refused_or_can_be_read() {
    let Some(session) = Session::start() else {
        return;
    };
    let bodies = [
        "NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:=FF=FE=80=C3",
        "NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=NONSENSE:=E4=F6=FC",
        "NOTE;ENCODING=QUOTED-PRINTABLE:=",
        "NOTE;CHARSET=UTF-16;ENCODING=QUOTED-PRINTABLE:=00=D8=00",
        "FN;CHARSET=ISO-2022-JP;ENCODING=QUOTED-PRINTABLE:=1B=24=42=FF",
        "PHOTO;ENCODING=b;TYPE=JPEG:****not base64****",
        "PHOTO;ENCODING=b;TYPE=JPEG:AAA",
        "PHOTO;VALUE=uri:file:///etc/passwd",
        "TEL;TYPE=\"unclosed:+1 \u{660}\u{661}\u{662}\u{663}",
        "EMAIL;;;===:@@@",
        "N:\u{202e}\u{0};;;;\u{7}",
        ":no name",
        "BDAY:99999999-99-99",
        "X-\u{fc}:\u{fffd}",
    ];
    let mut saved = 0;
    for (n, body) in bodies.iter().enumerate() {
        // A string of D-Bus has no NUL.
        let body = body.replace('\0', "");
        let card =
            format!("BEGIN:VCARD\r\nVERSION:2.1\r\nUID:bad-{n}\r\nFN:B\r\n{body}\r\nEND:VCARD\r\n");
        let created = session.call::<_, Vec<String>>(Book, "CreateContacts", &(vec![card], 0_u32));
        if created.is_ok() {
            let text: String = session
                .call(Book, "GetContact", &format!("bad-{n}"))
                .unwrap();
            assert!(text.contains(&format!("UID:bad-{n}")), "{text}");
            saved += 1;
        }
    }
    assert!(saved > 5, "{saved} saved");
    let all: Vec<String> = session.call(Book, "GetContactList", &"").unwrap();
    assert_eq!(all.len(), saved);
    for query in [
        "(contains \"x-evolution-any-field\" \"b\")",
        "(exists \"photo\")",
    ] {
        session
            .call::<_, Vec<String>>(Book, "GetContactListUids", &query)
            .unwrap();
    }

    let deep = "BEGIN:VCARD\r\n".repeat(100_000);
    let long = format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\n{}",
        "FN:x\r\n ".repeat(100_000)
    );
    for bad in ["", "BEGIN:VCARD", "END:VCARD", "FN:x", &deep, &long] {
        let body = (vec![bad], 0_u32);
        assert_eq!(
            refusal(&session, Book, "CreateContacts", &body),
            invalid(Book),
            "{bad:.20}"
        );
    }
    let deep = "BEGIN:VEVENT\r\n".repeat(100_000);
    for bad in [
        "",
        "BEGIN:VEVENT",
        "SUMMARY:x",
        &deep,
        "BEGIN:VALARM\r\nEND:VALARM\r\n",
    ] {
        let body = (vec![bad], 0_u32);
        assert_eq!(
            refusal(&session, Calendar, "CreateObjects", &body),
            invalid(Calendar),
            "{bad:.20}"
        );
    }
}

/// The name of the error for a record that is none.
fn invalid(source: Source) -> String {
    match source {
        Book => crate::support::error_name("e-client-error-quark", 0),
        Calendar => crate::support::error_name("e-cal-client-error-quark", 2),
    }
}

#[test]
fn queries_without_end_are_refused() {
    let Some(session) = Session::start() else {
        return;
    };
    let invalid = crate::support::error_name("e-client-error-quark", 16);
    let flat = |term: &str| format!("(or {})", term.repeat(10_000_000 / term.len()));
    let deep = |name: &str, term: &str| {
        format!(
            "{}{term}{}",
            format!("({name} ").repeat(100_000),
            ")".repeat(100_000)
        )
    };
    let contact = [
        deep("not", "(exists \"phone\")"),
        deep("and", "(is \"id\" \"x\")"),
        "(".repeat(100_000),
        flat("(is \"id\" \"someone\") "),
        format!("(is \"id\" \"{}\")", "x".repeat(10_000_000)),
    ];
    let none: Vec<String> = Vec::new();
    for query in &contact {
        for method in ["GetContactList", "GetContactListUids", "GetView"] {
            assert_eq!(
                refusal(&session, Book, method, query),
                invalid,
                "{method} {query:.30}"
            );
        }
        let cursor = (query, &none, &none);
        assert_eq!(
            refusal(&session, Book, "GetCursor", &cursor),
            invalid,
            "{query:.30}"
        );
    }
    let calendar = [
        deep("not", "#t"),
        deep("time-add-day", "(time-now) 1"),
        "(".repeat(100_000),
        flat("(uid? \"someone\") "),
        format!("(uid? \"{}\")", "x".repeat(10_000_000)),
    ];
    for query in &calendar {
        for method in ["GetObjectList", "GetView"] {
            assert_eq!(
                refusal(&session, Calendar, method, query),
                invalid,
                "{method} {query:.30}"
            );
        }
    }
    // As long as a query may be.
    let term = "(is \"id\" \"someone\") ";
    let longest = format!("(or {})", term.repeat(4_000_000 / term.len()));
    let found: Vec<String> = session.call(Book, "GetContactListUids", &longest).unwrap();
    assert!(found.is_empty());
    session.expect_answers();
}

#[test]
fn unknown_objects_and_wrong_arguments_are_errors() {
    let Some(session) = Session::start() else {
        return;
    };
    for source in [Book, Calendar] {
        let (name, path, interface) = (source.bus_name(), session.path(source), source.interface());
        let error = |target, method: &str| session.try_call(target, method, &()).unwrap_err();
        let wrong_path = format!("{path}0");
        let unknown = format!("{DBUS}.UnknownObject");
        assert_eq!(error((name, &wrong_path, interface), "Open"), unknown);
        let wrong_interface = error((name, path, "org.example.Nothing"), "Open");
        assert_eq!(wrong_interface, format!("{DBUS}.UnknownInterface"));
        assert_eq!(
            error((name, path, interface), "Nothing"),
            format!("{DBUS}.UnknownMethod")
        );
        // Wrong signatures: no argument, another type, one too many.
        let methods = ["GetView", "AddTimezone", "GetContact", "GetObjectList"];
        let of_source =
            |method: &&str| session.try_call((name, path, interface), method, &"").err();
        for method in methods
            .iter()
            .filter(|m| of_source(m) != Some(format!("{DBUS}.UnknownMethod")))
        {
            let wrong = format!("{DBUS}.InvalidArgs");
            assert_eq!(
                refusal(&session, source, method, &()),
                wrong,
                "{method} without an argument"
            );
            assert_eq!(
                refusal(&session, source, method, &7_u64),
                wrong,
                "{method} with a number"
            );
        }
        let property = ("org.example.Nothing", "Nothing");
        let properties = (name, path, "org.freedesktop.DBus.Properties");
        assert!(session.try_call(properties, "Get", &property).is_err());
        assert!(
            session
                .try_call(
                    properties,
                    "Set",
                    &(interface, "Revision", zbus::Variant::from(1))
                )
                .is_err()
        );
        session.expect_answers();
    }
    // A body that is not what the signature says ends its client alone.
    let message = session.message(Book, "GetContact", &"nobody");
    let mut bytes = message.data().to_vec();
    let end = bytes.len();
    bytes[end - 12..end - 8].copy_from_slice(&u32::MAX.to_ne_bytes());
    let mut socket = session.socket();
    socket.write_all(&bytes).unwrap();
    let _ = socket.read_to_end(&mut Vec::new());
    session.expect_answers();
    // Calls that expect no reply, and signals to the service.
    let mut socket = session.socket();
    for source in [Book, Calendar] {
        for name in ["Close", "Nothing"] {
            let call = Message::method_call(session.path(source), name)
                .interface(source.interface())
                .destination(source.bus_name())
                .with_flags(zbus::message::Flags::NO_REPLY_EXPECTED);
            socket.write_all(call.build(&()).unwrap().data()).unwrap();
            let signal = Message::signal(session.path(source), source.interface(), name);
            let signal = signal.destination(source.bus_name());
            socket
                .write_all(signal.build(&"x").unwrap().data())
                .unwrap();
        }
    }
    session.expect_answers();
}
