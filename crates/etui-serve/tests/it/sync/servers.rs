//! The behaviour of servers, after their documentation and reports of their users: nothing here is lost by it.

use etui::Store;
use etui::contacts::Card;
use etui::record::RecordKind;
use etui::sync::{AccountSettings, PairSettings};
use etui_dav::client::Address;
use etui_sync::{
    HttpClient, HttpOptions, Login, PairReport, SyncError, SyncOptions, discover, sync_pair,
};
use tempfile::TempDir;

use super::place::texts;
use super::scripted::{FOLDER, Scripted};

struct Pairing {
    server: Scripted,
    here: Store,
    _dir: TempDir,
}

fn card(uid: &str, name: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nEND:VCARD\r\n")
}

impl Pairing {
    /// A server with this many contacts, and a store that is paired with it.
    fn new(contacts: usize) -> Self {
        let server = Scripted::start();
        for n in 0..contacts {
            server.put(
                &format!("{n}.vcf"),
                &card(&format!("u{n}"), &format!("Person {n}")),
            );
        }
        let dir = tempfile::tempdir().unwrap();
        let here = Store::open(dir.path().join("here.etui")).unwrap();
        let account = AccountSettings {
            name: "s".into(),
            url: server.url(),
            user: "ada".into(),
            ..AccountSettings::default()
        };
        let account = here.sync().add_account(&account).unwrap();
        let pair = PairSettings {
            account,
            kind: Card::KIND,
            collection: here.contacts().unwrap().id(),
            url: server.url(),
            direction: etui::sync::Direction::Both,
            takes_v4: false,
        };
        here.sync().add_pair(&pair).unwrap();
        Self {
            server,
            here,
            _dir: dir,
        }
    }

    fn client(&self) -> HttpClient {
        let login = Login::Basic {
            user: "ada".to_owned(),
            password: "secret".to_owned(),
        };
        let address = Address::parse(&self.server.url()).unwrap();
        HttpClient::new(&address, login, &HttpOptions::default()).unwrap()
    }

    fn try_sync(&self, allow_removals: u64) -> Result<PairReport, SyncError> {
        let account = self.here.sync().accounts().unwrap().remove(0).id;
        let pair = self.here.sync().pairs(account).unwrap().remove(0);
        let mut options = SyncOptions {
            account: "s",
            allow_removals,
            is_dry_run: false,
            progress: &mut |_, _| {},
        };
        sync_pair::<Card>(&self.here, &self.client(), &pair, &mut options)
    }

    fn sync(&self) -> PairReport {
        self.try_sync(0).unwrap()
    }

    fn names(&self) -> Vec<String> {
        self.server
            .state
            .lock()
            .unwrap()
            .members
            .keys()
            .cloned()
            .collect()
    }

    fn change(&self, uid: &str, from: &str, to: &str) {
        let contacts = self.here.contacts().unwrap();
        let text = texts::<Card>(&self.here)[uid].replace(from, to);
        contacts.save(&Card::parse(text).unwrap()).unwrap();
    }
}

#[test]
fn a_server_that_suddenly_lists_nothing_or_half_removes_nothing() {
    for hides in [30, 15] {
        let pairing = Pairing::new(30);
        assert_eq!(pairing.sync().added_here, 30);
        let hidden = pairing.names().into_iter().take(hides).collect();
        pairing.server.state.lock().unwrap().hidden = hidden;
        let report = pairing.sync();
        let guard = report.guard.unwrap();
        assert!(
            guard.contains(&format!("{hides} of 30 would be removed here")),
            "{guard}"
        );
        assert_eq!(texts::<Card>(&pairing.here).len(), 30);
        // Nor is anything sent there again.
        assert_eq!(pairing.names().len(), 30);
        // When the person allows it, it is believed.
        let report = pairing.try_sync(hides as u64).unwrap();
        assert_eq!((report.removed_here, report.guard), (hides as u64, None));
        assert_eq!(
            pairing.here.contacts().unwrap().trash().unwrap().len(),
            hides
        );
    }
}

#[test]
fn what_a_listing_leaves_out_and_the_server_still_gives_stays() {
    let pairing = Pairing::new(30);
    pairing.sync();
    let unlisted = pairing.names().into_iter().take(20).collect();
    pairing.server.state.lock().unwrap().unlisted = unlisted;
    assert_eq!(pairing.sync(), PairReport::default());
    assert_eq!(texts::<Card>(&pairing.here).len(), 30);
}

#[test]
fn other_resources_at_the_same_place_remove_nothing_unasked() {
    let pairing = Pairing::new(30);
    pairing.sync();
    {
        let mut state = pairing.server.state.lock().unwrap();
        state.members.clear();
    }
    for n in 0..30 {
        pairing
            .server
            .put(&format!("x{n}.vcf"), &card(&format!("x{n}"), "Other"));
    }
    assert!(pairing.sync().guard.is_some());
    assert_eq!(texts::<Card>(&pairing.here).len(), 30);
}

#[test]
fn one_refused_item_is_named_and_stops_no_other() {
    let pairing = Pairing::new(0);
    let contacts = pairing.here.contacts().unwrap();
    for n in 0..5 {
        let text = card(&format!("n{n}"), &format!("New {n}"));
        contacts.save(&Card::parse(text).unwrap()).unwrap();
    }
    pairing.server.state.lock().unwrap().refuses = Some("New 2".to_owned());
    let report = pairing.sync();
    assert_eq!((report.sent, report.problems.len()), (4, 1));
    let problem = &report.problems[0];
    assert_eq!(problem.title, "New 2");
    assert_eq!(problem.reason, "no photos of cats (403 Forbidden)");
    let report = pairing.sync();
    assert_eq!((report.sent, report.problems[0].times), (0, 2));
    // It goes when the server takes it.
    pairing.server.state.lock().unwrap().refuses = None;
    let report = pairing.sync();
    assert_eq!((report.sent, report.problems), (1, Vec::new()));
    assert_eq!(pairing.names().len(), 5);
}

#[test]
fn a_contact_that_the_store_cannot_take_is_named_and_stops_no_other() {
    let pairing = Pairing::new(3);
    pairing.server.put("bad.vcf", "this is none");
    let report = pairing.sync();
    assert_eq!((report.added_here, report.problems.len()), (3, 1));
    assert_eq!(report.problems[0].item, format!("{FOLDER}bad.vcf"));
    pairing.server.put("bad.vcf", &card("good", "Good"));
    let report = pairing.sync();
    assert_eq!((report.added_here, report.problems), (1, Vec::new()));
}

#[test]
fn two_contacts_with_one_uid_are_told_and_one_is_kept() {
    let pairing = Pairing::new(2);
    pairing.server.put("twin.vcf", &card("u1", "Twin"));
    let report = pairing.sync();
    assert_eq!(report.problems.len(), 1);
    assert!(
        report.problems[0].reason.contains("two with this UID"),
        "{:?}",
        report.problems
    );
    assert_eq!(pairing.names().len(), 3);
    assert_eq!(texts::<Card>(&pairing.here).len(), 2);
}

#[test]
fn what_a_server_rewrites_does_not_come_here() {
    let pairing = Pairing::new(1);
    pairing.sync();
    pairing.server.state.lock().unwrap().rewrites =
        Some(|text| text.replace("END:VCARD", "X-SERVER:1\r\nEND:VCARD"));
    pairing.change("u0", "Person 0", "Person Zero");
    assert_eq!(pairing.sync().sent, 1);
    assert_eq!(pairing.sync(), PairReport::default());
    assert_eq!(
        texts::<Card>(&pairing.here)["u0"],
        card("u0", "Person Zero")
    );
    // What is changed there does, without that.
    let text = card("u0", "Person Null").replace("END", "X-SERVER:1\r\nEND");
    pairing.server.put("0.vcf", &text);
    assert_eq!(pairing.sync().changed_here, 1);
    assert_eq!(
        texts::<Card>(&pairing.here)["u0"],
        card("u0", "Person Null")
    );
}

#[test]
fn a_server_that_gives_another_name_gets_each_contact_once() {
    let pairing = Pairing::new(1);
    pairing.server.state.lock().unwrap().moves = true;
    let contacts = pairing.here.contacts().unwrap();
    contacts
        .save(&Card::parse(card("n", "New")).unwrap())
        .unwrap();
    assert_eq!(pairing.sync().sent, 1);
    assert_eq!(pairing.sync(), PairReport::default());
    assert_eq!(pairing.names().len(), 2);
    pairing.change("n", "New", "Newer");
    assert_eq!(pairing.sync().sent, 1);
    assert_eq!(pairing.names().len(), 2);
}

#[test]
fn a_resource_that_the_server_moves_stays_one() {
    let pairing = Pairing::new(3);
    pairing.sync();
    {
        let mut state = pairing.server.state.lock().unwrap();
        let moved = state.members.remove("1.vcf").unwrap();
        state.members.insert("elsewhere.vcf".to_owned(), moved);
    }
    pairing.sync();
    assert_eq!(texts::<Card>(&pairing.here).len(), 3);
    assert_eq!(pairing.here.contacts().unwrap().trash().unwrap(), []);
    assert_eq!(pairing.sync(), PairReport::default());
    assert_eq!(pairing.names().len(), 3);
}

#[test]
fn a_list_that_is_cut_is_read_to_its_end() {
    let pairing = Pairing::new(50);
    pairing.server.state.lock().unwrap().cut_at = Some(7);
    assert_eq!(pairing.sync().added_here, 50);
    assert_eq!(pairing.sync(), PairReport::default());
}

#[test]
fn a_busy_server_is_asked_again() {
    let pairing = Pairing::new(2);
    pairing.server.state.lock().unwrap().busy = 3;
    assert_eq!(pairing.sync().added_here, 2);
}

#[test]
fn the_password_goes_to_no_other_server() {
    let other = Scripted::start();
    let pairing = Pairing::new(2);
    pairing.server.state.lock().unwrap().redirect = Some(other.url());
    assert!(matches!(pairing.try_sync(0), Err(SyncError::Send(_))));
    let address = Address::parse(&pairing.server.url()).unwrap();
    assert!(discover(&pairing.client(), &address).is_err());
    assert_eq!(other.state.lock().unwrap().log, []);
}

#[test]
fn an_answer_that_is_no_list_changes_nothing() {
    let deep = format!("{}{}", "<a>".repeat(10_000), "</a>".repeat(10_000));
    let bomb = "<!DOCTYPE a [<!ENTITY b \"cc\">]><multistatus xmlns=\"DAV:\">&b;</multistatus>";
    let elsewhere = "<multistatus xmlns=\"DAV:\"><response><href>/other/1.vcf</href><propstat><prop>\
                     <getetag>\"1\"</getetag></prop></propstat></response></multistatus>";
    let page = "<html><body>Please log in</body></html>";
    for answer in [
        "",
        "<multistatus xmlns=\"DAV:\">",
        page,
        bomb,
        elsewhere,
        &deep,
    ] {
        let pairing = Pairing::new(3);
        pairing.sync();
        pairing.server.state.lock().unwrap().answer = Some(answer.to_owned());
        let error = pairing.try_sync(1_000).map(|report| report.removed_here);
        assert!(error.is_err(), "{answer:.60}: {error:?}");
        assert_eq!(texts::<Card>(&pairing.here).len(), 3);
        assert_eq!(pairing.sync(), PairReport::default());
    }
}

#[test]
fn edited_here_and_removed_there_is_on_both_again() {
    let pairing = Pairing::new(3);
    pairing.sync();
    pairing.change("u1", "Person 1", "Ada");
    pairing.server.state.lock().unwrap().members.remove("1.vcf");
    let report = pairing.sync();
    assert_eq!(
        (report.brought_back, report.sent),
        (vec!["Ada".to_owned()], 1)
    );
    assert_eq!(pairing.names().len(), 3);
    // And the other way round.
    pairing.here.contacts().unwrap().remove("u2").unwrap();
    pairing.server.put("2.vcf", &card("u2", "Bo"));
    let report = pairing.sync();
    assert_eq!(report.brought_back, ["Bo"]);
    assert_eq!(texts::<Card>(&pairing.here)["u2"], card("u2", "Bo"));
}

#[test]
fn a_conflict_keeps_the_text_that_lost() {
    let pairing = Pairing::new(1);
    pairing.sync();
    pairing.change("u0", "Person 0", "Here");
    pairing.server.put("0.vcf", &card("u0", "There"));
    let report = pairing.sync();
    assert_eq!(report.conflicts.len(), 1);
    let lost = pairing.here.refused().list().unwrap();
    let text = pairing.here.refused().text(lost[0].id).unwrap().unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), card("u0", "There"));
    assert_eq!(
        (lost[0].device.as_str(), lost[0].uid.as_deref()),
        ("s", Some("u0"))
    );
    // It can be taken, and then is on both sides.
    pairing.here.refused().take(lost[0].id).unwrap();
    assert_eq!(pairing.sync().sent, 1);
    let state = pairing.server.state.lock().unwrap();
    assert_eq!(state.members["0.vcf"].1, card("u0", "There"));
}

#[test]
fn contacts_without_a_uid_are_each_there_once() {
    let pairing = Pairing::new(1);
    let text = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Nobody\r\nEND:VCARD\r\n";
    pairing.server.put("a.vcf", text);
    pairing.server.put("b.vcf", text);
    let report = pairing.sync();
    assert_eq!((report.added_here, report.problems.len()), (2, 1));
    // Forgotten and added again, it is the same.
    let account = pairing.here.sync().accounts().unwrap().remove(0);
    let pair = pairing.here.sync().pairs(account.id).unwrap().remove(0);
    pairing.here.sync().remove_account(account.id).unwrap();
    let account = pairing.here.sync().add_account(&account.settings).unwrap();
    let pair = PairSettings {
        account,
        ..pair.settings
    };
    pairing.here.sync().add_pair(&pair).unwrap();
    let report = pairing.sync();
    assert_eq!(
        (report.added_here, report.sent, report.problems.len()),
        (0, 0, 1)
    );
    assert_eq!(texts::<Card>(&pairing.here).len(), 2);
    assert_eq!(pairing.names().len(), 3);
}

#[test]
fn of_two_with_one_uid_the_other_stays_when_one_goes() {
    let pairing = Pairing::new(2);
    pairing.server.put("twin.vcf", &card("u1", "Twin"));
    pairing.sync();
    pairing.server.state.lock().unwrap().members.remove("1.vcf");
    let report = pairing.sync();
    assert_eq!((report.removed_here, report.problems), (0, Vec::new()));
    assert_eq!(texts::<Card>(&pairing.here)["u1"], card("u1", "Twin"));
}

#[test]
fn a_server_that_fails_for_one_item_gets_the_others() {
    let pairing = Pairing::new(0);
    let contacts = pairing.here.contacts().unwrap();
    for n in 0..5 {
        let text = card(&format!("n{n}"), &format!("New {n}"));
        contacts.save(&Card::parse(text).unwrap()).unwrap();
    }
    pairing.server.state.lock().unwrap().fails = Some("New 1".to_owned());
    let report = pairing.sync();
    assert_eq!((report.sent, report.problems.len()), (4, 1));
    pairing.server.state.lock().unwrap().fails = None;
    let report = pairing.sync();
    assert_eq!((report.sent, report.problems), (1, Vec::new()));
}

#[test]
fn a_text_that_xml_cannot_have_spoils_no_other() {
    let pairing = Pairing::new(5);
    pairing.server.put("bad.vcf", &card("bad", "Be\u{1}ll"));
    let report = pairing.sync();
    assert_eq!((report.added_here, report.problems), (6, Vec::new()));
}

#[test]
fn what_has_weak_tags_is_sent_too() {
    let pairing = Pairing::new(2);
    pairing.server.state.lock().unwrap().is_weak = true;
    pairing.sync();
    pairing.change("u0", "Person 0", "Person Zero");
    pairing.here.contacts().unwrap().remove("u1").unwrap();
    let report = pairing.sync();
    assert_eq!(
        (report.sent, report.removed_there, report.problems),
        (1, 1, Vec::new())
    );
}

#[test]
fn a_server_that_hangs_up_after_each_answer_gets_all() {
    let pairing = Pairing::new(3);
    pairing.sync();
    pairing.server.state.lock().unwrap().hangs_up = true;
    let contacts = pairing.here.contacts().unwrap();
    for n in 0..3 {
        let text = card(&format!("n{n}"), &format!("New {n}"));
        contacts.save(&Card::parse(text).unwrap()).unwrap();
    }
    pairing.change("u0", "Person 0", "Person Zero");
    contacts.remove("u1").unwrap();
    let report = pairing.sync();
    assert_eq!((report.sent, report.removed_there), (4, 1));
    assert_eq!(pairing.names().len(), 5);
    assert_eq!(pairing.sync(), PairReport::default());
}

#[test]
fn what_is_new_and_removed_by_another_before_the_next_run_goes() {
    for is_cut in [false, true] {
        let pairing = Pairing::new(2);
        pairing.server.state.lock().unwrap().has_moments = true;
        pairing.sync();
        let contacts = pairing.here.contacts().unwrap();
        for name in ["first", "second"] {
            let text = card(name, &format!("The {name}"));
            contacts.save(&Card::parse(text).unwrap()).unwrap();
        }
        pairing.server.put("third.vcf", &card("third", "The third"));
        if is_cut {
            let mut state = pairing.server.state.lock().unwrap();
            // Without a tag, the first one is read back before the second one is sent.
            state.rewrites = Some(str::to_owned);
            state.breaks_at = Some("The second".to_owned());
            drop(state);
            pairing.try_sync(0).unwrap_err();
            pairing.server.state.lock().unwrap().breaks_at = None;
        } else {
            assert_eq!(pairing.sync().sent, 2);
            pairing.server.remove("second.vcf");
        }
        pairing.server.remove("first.vcf");
        pairing.server.remove("third.vcf");
        let report = pairing.sync();
        let (sent, removed) = if is_cut { (1, 2) } else { (0, 3) };
        assert_eq!((report.sent, report.removed_here), (sent, removed));
        assert_eq!(pairing.names().len(), texts::<Card>(&pairing.here).len());
        assert_eq!(pairing.sync(), PairReport::default());
    }
}

#[test]
fn what_sogo_lists_as_changed_is_read_whatever_its_tag() {
    // Two that were removed and made anew, with the tag of their first version.
    let pairing = Pairing::new(2);
    pairing.server.state.lock().unwrap().counts = true;
    pairing.server.state.lock().unwrap().has_moments = true;
    pairing.sync();
    pairing.server.put("0.vcf", &card("u0", "Another"));
    pairing.server.put("1.vcf", &card("u1", "A third"));
    pairing.change("u1", "Person 1", "Person One");
    let report = pairing.sync();
    assert_eq!((report.changed_here, report.conflicts.len()), (1, 1));
    let here = texts::<Card>(&pairing.here);
    assert_eq!(here["u0"], card("u0", "Another"));
    assert_eq!(here["u1"], card("u1", "Person One"));
    let lost = pairing.here.refused().list().unwrap().remove(0).id;
    let lost = pairing.here.refused().text(lost).unwrap().unwrap();
    assert_eq!(lost, card("u1", "A third").into_bytes());
}
