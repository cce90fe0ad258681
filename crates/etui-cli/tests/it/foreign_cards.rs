//! Cards as other programs write them: merged, edited, exported.

use crate::harness::{TestHome, session};

fn home(cards: &[&str]) -> TestHome {
    let home = TestHome::new();
    let cards = cards.iter().map(|lines| {
        let lines = lines.replace('\n', "\r\n");
        format!("BEGIN:VCARD\r\n{lines}\r\nEND:VCARD\r\n")
    });
    std::fs::write(home.path("cards.vcf"), cards.collect::<String>()).unwrap();
    home.run("etui import cards.vcf");
    home
}

#[test]
fn a_merge_takes_groups_along() {
    let home = home(&[
        "VERSION:3.0\nUID:d1\nN:Adler;Rosa;;;\nFN:Rosa Adler",
        "VERSION:4.0\nUID:d2\nN:Adler;Rosa;;;\nFN:Rosa Adler\nTITLE:Chief",
        "VERSION:3.0\nUID:g1\nN:Crew;;;;\nFN:Crew\nX-ADDRESSBOOKSERVER-KIND:group\n\
         X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:d2",
    ]);
    session!(home, [
        "etui contacts merge 1 2",
        "etui contacts show 3 --vcard | grep MEMBER",
        "etui contacts restore 1 2 3",
        "etui contacts show 3 --vcard | grep MEMBER",
        "etui --json contacts merge 1 2 | grep -o 'repaired.*'",
    ], @r#"
    $ etui contacts merge 1 2
    Merged 2 (Rosa Adler) into 1: Rosa Adler
    Changed 3 (Crew), which named a merged contact
    Undo: etui contacts restore 1 2 3
    $ etui contacts show 3 --vcard | grep MEMBER
    X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:d1\r
    $ etui contacts restore 1 2 3
    Undid the latest change of 1: Rosa Adler
    Restored 2: Rosa Adler
    Undid the latest change of 3: Crew
    $ etui contacts show 3 --vcard | grep MEMBER
    X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:d2\r
    $ etui --json contacts merge 1 2 | grep -o 'repaired.*'
    repaired":[3]}
    "#);
}

#[test]
fn a_name_that_is_kept_is_named() {
    let home = home(&[
        "VERSION:3.0\nUID:1\nN:Nagy;Anna;;;\nFN:Nagy, Anna",
        "VERSION:3.0\nUID:2\nN:Nagy;Anna;;;\nFN:Annie",
    ]);
    session!(home, [
        "etui contacts edit 1 --set family=Kiss",
        "etui contacts edit 2 --set family=Kiss",
        "etui contacts edit --where family:kiss --set family=Kovacs",
        "etui contacts list --fields name,family",
        "etui contacts add --org 'Acme; Sales'",
        "etui contacts add --name Zoe --set phone:wrok=030123456",
        "etui contacts add --name Zoe --set phone:boat=030123456",
        "etui contacts add --name Zoe --set phone:x-Boat=030123456",
        "etui contacts show zoe | grep Phone",
    ], @r#"
    $ etui contacts edit 1 --set family=Kiss
    Changed 1: Kiss, Anna (undo: etui contacts restore 1)
    - N: Nagy;Anna;;;
      N: Kiss;Anna;;;
    $ etui contacts edit 2 --set family=Kiss
    Changed 2: Annie (undo: etui contacts restore 2)
    - N: Nagy;Anna;;;
      N: Kiss;Anna;;;
    contact 2 is still shown as Annie; to change that: --set name=NAME
    $ etui contacts edit --where family:kiss --set family=Kovacs
    contact 2 is still shown as Annie; to change that: --set name=NAME
    Changed 1: Kovacs, Anna
    Changed 2: Annie
    Undo: etui contacts restore 1 2
    $ etui contacts list --fields name,family
    Name          Family name
    Kovacs, Anna  Kovacs
    Annie         Kovacs
    $ etui contacts add --org 'Acme; Sales'
    Added 7: Acme
    $ etui contacts add --name Zoe --set phone:wrok=030123456
    error: invalid value 'phone:wrok=030123456' for '--set <PROP=VALUE>': there is no type "wrok"; did you mean work? (one of your own begins with x-: x-wrok)

    For more information, try '--help'.
    [exit 2]
    $ etui contacts add --name Zoe --set phone:boat=030123456
    error: invalid value 'phone:boat=030123456' for '--set <PROP=VALUE>': there is no type "boat"; one of your own begins with x-: x-boat

    For more information, try '--help'.
    [exit 2]
    $ etui contacts add --name Zoe --set phone:x-Boat=030123456
    Added 8: Zoe
    $ etui contacts show zoe | grep Phone
      Phone  030123456  (Boat)
    "#);
}

#[test]
fn an_export_to_4_names_its_losses() {
    let home = home(&[
        "VERSION:3.0\nUID:1\nN:A;A;;;\nFN:A\nBDAY:1604-05-09",
        "VERSION:3.0\nUID:2\nN:B;B;;;\nFN:B\nBDAY;X-APPLE-OMIT-YEAR=1604:1604-05-09\nNOTE:tea\\; no milk",
        "VERSION:2.1\nUID:3\nN:C;C\nFN:C, Jr.\nADR;HOME:;;Elm 1, rear;Town;;1;DE",
    ]);
    session!(home, [
        "etui export --vcard-version 4.0",
    ], @r"
    $ etui export --vcard-version 4.0
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:1\r
    N:A;A;;;\r
    FN:A\r
    BDAY:--0509\r
    END:VCARD\r
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:2\r
    N:B;B;;;\r
    FN:B\r
    BDAY:--0509\r
    NOTE:tea; no milk\r
    END:VCARD\r
    BEGIN:VCARD\r
    VERSION:4.0\r
    UID:3\r
    N:C;C\r
    FN:C\, Jr.\r
    ADR;TYPE=home:;;Elm 1\, rear;Town;;1;DE\r
    END:VCARD\r
    Not in vCard 4.0: BDAY year 1604 (1)
    ");
}
