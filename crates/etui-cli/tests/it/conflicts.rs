//! `etui conflicts`: refused texts are listed, shown, taken and forgotten.

use etui::Store;
use etui::resource::ResourceKey;
use etui::store::RefusedText;

use crate::harness::{TestHome, session};
use crate::history::mask_times;

/// A home whose store has two conflicts: Bob's e-mail address, and an event that is new.
fn home_with_conflicts() -> TestHome {
    let home = TestHome::with_people();
    let store = Store::open(home.path(".local/share/etui/personal.etui")).unwrap();
    let (contacts, calendar) = (store.contacts().unwrap(), store.calendar().unwrap());
    let bob = contacts.resource(ResourceKey::Uid("bob")).unwrap().unwrap();
    let text = String::from_utf8(bob.bytes).unwrap();
    let text = text.replace("bob@example.com", "bob@example.net");
    let event = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//phone//EN\r\nBEGIN:VEVENT\r\nUID:tea\r\n\
                 DTSTART:20261120T150000Z\r\nSUMMARY:Tea \u{1b}[31mwith Bob\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let refused = RefusedText {
        collection: contacts.id(),
        name: "bob.vcf",
        record: Some(bob.id),
        uid: Some("bob"),
        text: text.as_bytes(),
        device: "Phone",
        reason: "it was changed meanwhile",
    };
    store.refused().keep(&refused).unwrap();
    // Times are in milliseconds, and this one has to be later.
    std::thread::sleep(std::time::Duration::from_millis(2));
    let refused = RefusedText {
        collection: calendar.id(),
        name: "tea.ics",
        record: None,
        uid: Some("tea"),
        text: event.as_bytes(),
        device: "Tablet",
        reason: "it was removed meanwhile",
    };
    store.refused().keep(&refused).unwrap();
    store.close().unwrap();
    home
}

#[test]
fn conflicts_are_listed_shown_and_taken() {
    let home = home_with_conflicts();
    let session = home.session(&[
        "etui conflicts",
        "etui conflicts show 1",
        "etui conflicts show 2",
        "etui conflicts take 1",
        "etui contacts show bob | head -2",
        "etui contacts restore 2",
        "etui conflicts take 2",
        "etui conflicts",
        "etui conflicts take 2",
    ]);
    insta::assert_snapshot!(mask_times(&session), @r"
    $ etui conflicts
    #  When              Name              In        From    Present version  Reason
    2  YYYY-MM-DD HH:MM  Tea [31mwith Bob  Calendar  Tablet  none             it was removed meanwhile
    1  YYYY-MM-DD HH:MM  Bob Öst           Contacts  Phone   another text     it was changed meanwhile
    $ etui conflicts show 1
    Bob Öst
      In      Contacts
      From    Phone
      When    YYYY-MM-DD HH:MM
      Reason  it was changed meanwhile
      Size    198 bytes
    Changes of the present version:
    -EMAIL;TYPE=home:bob@example.com
    +EMAIL;TYPE=home:bob@example.net
    $ etui conflicts show 2
    Tea [31mwith Bob
      In      Calendar
      From    Tablet
      When    YYYY-MM-DD HH:MM
      Reason  it was removed meanwhile
      Size    154 bytes
    There is no present version. The text:
    BEGIN:VCALENDAR\r
    VERSION:2.0\r
    PRODID:-//phone//EN\r
    BEGIN:VEVENT\r
    UID:tea\r
    DTSTART:20261120T150000Z\r
    SUMMARY:Tea \e[31mwith Bob\r
    END:VEVENT\r
    END:VCALENDAR\r
    $ etui conflicts take 1
    Took conflict 1: 2 Bob Öst (undo: etui contacts restore 2)
    $ etui contacts show bob | head -2
    Bob Öst
      E-mail    bob@example.net  (home)
    $ etui contacts restore 2
    Undid the latest change of 2: Bob Öst
    $ etui conflicts take 2
    Took conflict 2: 7 Tea [31mwith Bob (undo: etui calendar remove 7)
    $ etui conflicts
    No conflicts.
    $ etui conflicts take 2
    error: there is no conflict 2; `etui conflicts` lists them
    [exit 4]
    ");
}

#[test]
fn conflicts_as_json() {
    let home = home_with_conflicts();
    let session = home.session(&[
        "etui conflicts list --json",
        "etui conflicts show 1 --json",
        "etui conflicts show 2 --text | head -4",
        "etui conflicts take 2 --json",
        "etui conflicts forget 1 7",
        "etui conflicts forget '#1' --json",
        "etui conflicts",
        "etui conflicts show x",
    ]);
    insta::assert_snapshot!(mask_times(&session), @r#"
    $ etui conflicts list --json
    {"conflict":2,"at":"YYYY-MM-DD HH:MM","name":"Tea [31mwith Bob","kind":"calendar","collection":"Calendar","resource":"tea.ics","id":null,"uid":"tea","device":"Tablet","present":"none","reason":"it was removed meanwhile","size":154}
    {"conflict":1,"at":"YYYY-MM-DD HH:MM","name":"Bob Öst","kind":"address book","collection":"Contacts","resource":"bob.vcf","id":2,"uid":"bob","device":"Phone","present":"other","reason":"it was changed meanwhile","size":198}
    $ etui conflicts show 1 --json
    {"conflict":1,"at":"YYYY-MM-DD HH:MM","name":"Bob Öst","kind":"address book","collection":"Contacts","resource":"bob.vcf","id":2,"uid":"bob","device":"Phone","present":"other","reason":"it was changed meanwhile","size":198,"lines":[{"sign":"-","property":"EMAIL","line":"EMAIL;TYPE=home:bob@example.com"},{"sign":"+","property":"EMAIL","line":"EMAIL;TYPE=home:bob@example.net"}],"text":"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:bob\r\nFN:Bob Öst\r\nEMAIL;TYPE=home:bob@example.net\r\nBDAY:--0229\r\nNOTE:likes tea\\, no milk\\nand cake\r\nX-HOBBY:chess\r\nPHOTO:data:image/png;base64,iVBORw0KGgo=\r\nEND:VCARD\r\n"}
    $ etui conflicts show 2 --text | head -4
    BEGIN:VCALENDAR\r
    VERSION:2.0\r
    PRODID:-//phone//EN\r
    BEGIN:VEVENT\r
    $ etui conflicts take 2 --json
    {"conflict":2,"id":5,"name":"Tea [31mwith Bob","outcome":"added"}
    $ etui conflicts forget 1 7
    error: there is no conflict 7; `etui conflicts` lists them
    [exit 4]
    $ etui conflicts forget '#1' --json
    {"forgotten":[1]}
    $ etui conflicts
    No conflicts.
    $ etui conflicts show x
    error: invalid value 'x' for '<N>': a conflict is a number of the first column of `etui conflicts`

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn the_list_tells_what_the_present_version_is() {
    let home = home_with_conflicts();
    // Times are in milliseconds, and this one has to be later.
    std::thread::sleep(std::time::Duration::from_millis(2));
    let session = home.session(&[
        "etui contacts edit bob --set note=later > /dev/null",
        "etui conflicts | tail -1",
        "etui conflicts take 1 > /dev/null",
    ]);
    assert!(session.contains("newer than this"), "{session}");
    // The text that is the present one now, refused once more.
    let store = Store::open(home.path(".local/share/etui/personal.etui")).unwrap();
    let contacts = store.contacts().unwrap();
    let bob = contacts.resource(ResourceKey::Uid("bob")).unwrap().unwrap();
    let refused = RefusedText {
        collection: contacts.id(),
        name: "bob.vcf",
        record: Some(bob.id),
        uid: Some("bob"),
        text: &bob.bytes,
        device: "Phone",
        reason: "it was changed meanwhile",
    };
    store.refused().keep(&refused).unwrap();
    store.close().unwrap();
    let session = home.session(&["etui conflicts | grep Bob"]);
    assert!(session.contains("the same text"), "{session}");
}

#[test]
fn help_of_conflicts() {
    let home = TestHome::new();
    session!(home, ["etui conflicts --help | sed '/^Global/,$d'"], @r"
    $ etui conflicts --help | sed '/^Global/,$d'
    Show changes of other devices that were refused, and take them

    Usage: etui conflicts [OPTIONS]
           etui conflicts <COMMAND>

    Commands:
      list    List refused texts, the latest first
      show    Show the changes that a refused text would make
      take    Save a refused text as the present version
      forget  Delete refused texts

    Options:
      -h, --help  Print help
    ");
}
