//! The real server's address book, filled, read and opened again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use etui_testkit::people::{Version, person};

use super::super::client::digest_names;
use super::*;

#[test]
fn an_address_book_is_filled_and_read_without_a_display() {
    if let Err(reason) = check() {
        println!("skipped: {reason}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let client = build(dir.path()).unwrap();
    let cards = dir.path().join("cards.vcf");
    let people: Vec<_> = (0..40).map(|index| person(4, index)).collect();
    let text: String = people.iter().map(|p| p.to_vcard(Version::V3)).collect();
    fs::write(&cards, text).unwrap();
    let home = dir.path().join("home");
    let expected = |some: &[usize]| {
        let named: Vec<(String, String)> = some
            .iter()
            .map(|at| {
                let card = people[*at].to_vcard(Version::V3);
                let card = etui::contacts::Card::parse(card.as_bytes()).unwrap();
                (people[*at].uid.clone(), card.display_name())
            })
            .collect();
        digest_names(
            named
                .iter()
                .map(|(uid, name)| (uid.as_str(), name.as_str())),
        )
    };
    let all: Vec<usize> = (0..40).collect();

    let session = AkonadiSession::start(&home, &client).unwrap();
    let mut asking = session.client().unwrap();
    assert!(asking.ask(&["all"]).is_err(), "no book is open");
    asking.ask(&["create"]).unwrap();
    asking.ask(&["connect"]).unwrap();
    assert_eq!(asking.load(&cards).unwrap(), 40);
    asking.batch(0, 30).unwrap();
    assert_eq!(asking.ask(&["save", "30", "10"]).unwrap().ns.len(), 10);
    assert!(asking.ask(&["save", "40", "1"]).is_err(), "not loaded");
    let names = asking.ask(&["names"]).unwrap();
    assert_eq!((names.count, names.digest), (40, expected(&all)));
    asking.ask(&["flush"]).unwrap();
    for command in ["get", "many"] {
        let some = asking.ask(&[command, "2", &people[3].uid, &people[31].uid]);
        assert_eq!(some.unwrap().digest, expected(&[3, 31]), "{command}");
    }
    assert_eq!(session.servers().len(), 3);
    drop(asking);
    let (server, servers) = (session.server().unwrap(), session.servers());
    assert!(servers.contains(&server));
    drop(session);
    for pid in servers {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(environment.is_empty(), "{pid} is still there");
    }

    let session = AkonadiSession::start(&home, &client).unwrap();
    let mut asking = session.client().unwrap();
    asking.ask(&["connect"]).unwrap();
    assert_eq!(asking.ask(&["names"]).unwrap().digest, expected(&all));
}
