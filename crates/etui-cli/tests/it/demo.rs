//! The demo: its output is reproducible except for the times, and it removes its files.

use crate::harness::{TestHome, session};

/// Replaces the times at the start of lines: `   1.2 ms  step`.
const NO_TIMES: &str = "sed -E 's/^ +[0-9.]+ (µs|ms|s)  /  TIME  /'";

#[test]
fn the_demo_shows_its_steps() {
    let home = TestHome::new();
    session!(home, [
        &format!("etui demo --people 200 | {NO_TIMES}"),
        "ls -A; ls tmp",
    ], @r"
    $ etui demo --people 200 | sed -E 's/^ +[0-9.]+ (µs|ms|s)  /  TIME  /'
    Importing 200 generated contacts and 22 sample exports
      TIME  import generated contacts                         200 added (90 kB)
      TIME  import exports of phones and programs             89 added, 7 rejected (59 kB)
      7 pieces of input were rejected, the rest was imported. They are broken on purpose:
        broken-between-good.vcf:7: this text belongs to no record
        broken-between-good.vcf:15: the record has no END line
        broken-between-good.vcf:27: an empty vCard: no name, no phone, no e-mail, nothing else
        broken-between-good.vcf:29: an empty vCard: no name, no phone, no e-mail, nothing else
        broken-between-good.vcf:38: END without a BEGIN before it
        broken-between-good.vcf:55: the record has no END line
        duplicate-uid.vcf:15: an earlier contact of this input has the same UID (duplicate-1) and other content

    Searching
      TIME  search as you type: an                            19: Erik Håkan Andersson, Anjali Banerjee, …
      TIME  one more letter: ann                              4: Ann-Kathrin Müller, Anna Wagner, …
      TIME  ignoring accents: muller finds Müller             6: Andreas Müller, Ann-Kathrin Müller, …
      TIME  in the middle of a word: berg                     no match
      TIME  caller ID: the number ends in 9007742             1: Pierre Durand
      TIME  all addresses at mail.example                     19: Olivia Brown, Pierre Durand, …
      TIME  two fields: anna at example.org                   no match

    Browsing
      TIME  the first page of 50                              (303) 555-0103 … María Carmen Fernández
      TIME  a page of 50 from number 145                      Chidi Okafor … Fiona Smith

    Changing a contact (every change survives a power cut)
      TIME  read it                                           Pierre Durand, +33199007742
      TIME  change the phone number                           Pierre Durand, +49 30 23125 789
      TIME  undo                                              Pierre Durand, +33199007742
      TIME  remove                                            in the trash
      TIME  restore                                           Pierre Durand, +33199007742

    A calendar of 50 generated entries
      TIME  import a calendar of eleven years                 50 added (16 kB)
      TIME  agenda of 6 to 12 June 2022                       1: Visita with Grace
      TIME  agenda of a week in 2104                          2: Train with project Nordlicht, Visita with Grace
      TIME  the next 10 alarms                                10, first: Visita with Grace
      TIME  free/busy of the week                             busy in 1 block

    A media library of 96 generated tracks
      TIME  scan the folder, making thumbnails                96 tracks, 7 covers
      TIME  scan it again                                     nothing changed; no file opened, nothing written
      TIME  scan it under another name                        99 files moved; no file opened
      TIME  the first page of albums                          8 albums with 7 covers of 25 kB
      TIME  longer tracks of the nineties                     10: Électrique Lumière, Blå Orchard, …

    289 contacts and 50 calendar entries were stored in one file of 627 kB, now removed.
    The times are those of a quick build (profile dev). The optimised program, which is
    faster, takes longer to build: cargo install --locked --profile dist --path crates/etui-cli

    Next, your own data:
      etui import contacts.vcf      an export of your phone or address book
      etui import calendar.ics      an export of your calendar
      etui contacts find ann
      etui calendar agenda week
      etui media scan ~/Music       then: etui media albums
      etui contacts --help
    $ ls -A; ls tmp
    people.vcf
    tmp
    ");
}

#[test]
fn it_can_be_kept() {
    let home = TestHome::new();
    session!(home, [
        "etui demo --people 20 --keep demo.etui | tail -13 | sed 's/of [0-9]* kB/of SIZE/'",
        "etui --store demo.etui contacts find name:an* --limit 1",
        "etui demo --people 20 --keep demo.etui",
        "etui --json demo --people 1 | head -1 | cut -d, -f1,2",
        "etui demo --people 0",
    ], @r#"
    $ etui demo --people 20 --keep demo.etui | tail -13 | sed 's/of [0-9]* kB/of SIZE/'

    109 contacts and 5 calendar entries are kept in one file of SIZE: demo.etui
    Look around: etui --store demo.etui contacts list
    The times are those of a quick build (profile dev). The optimised program, which is
    faster, takes longer to build: cargo install --locked --profile dist --path crates/etui-cli

    Next, your own data:
      etui import contacts.vcf      an export of your phone or address book
      etui import calendar.ics      an export of your calendar
      etui contacts find ann
      etui calendar agenda week
      etui media scan ~/Music       then: etui media albums
      etui contacts --help
    $ etui --store demo.etui contacts find name:an* --limit 1
     #  Name                 Organisation          Phone             E-mail
    21  Ana Lucía Fernández  Talleres Ibáñez S.L.  +34 600 55 50 12  ana.fernandez@example.org
    $ etui demo --people 20 --keep demo.etui
    error: demo.etui: already exists and was not changed; choose another path
    [exit 1]
    $ etui --json demo --people 1 | head -1 | cut -d, -f1,2
    {"step":"import generated contacts","result":"1 added (532 bytes)"
    $ etui demo --people 0
    error: invalid value '0' for '--people <N>': 0 is not in 1..=1000000

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn an_interrupted_demo_removes_its_files() {
    let home = TestHome::new();
    let (text, _) = home.run(
        "etui demo --people 200000 > /dev/null & \
         wait_until sh -c 'ls tmp/etui-demo-*/demo.etui-wal'; \
         kill -TERM $!; wait $!; echo $?; ls tmp",
    );
    assert_eq!(text, "130\n");
}
