//! Help, manual pages, completions.

use crate::harness::{TestHome, session};

#[test]
fn help_teaches() {
    let home = TestHome::new();
    // What follows are constants.
    session!(home, ["etui --help | sed '/^Examples/,$d'"], @r"
    $ etui --help | sed '/^Examples/,$d'
    Contacts and calendars in one file on your own device

    Usage: etui [OPTIONS] <COMMAND>

    Commands:
      demo          Try etui on generated contacts, a calendar and music
      init          Create a store
      import        Import vCard, iCalendar, CSV and LDIF files, vdir folders and Palm databases
      contacts      List, find, show and change contacts
      calendar      Show the agenda; list, find and change calendar entries
      addressbooks  List, create, rename, remove and restore address books
      calendars     List, create, rename, remove and restore calendars
      export        Export contacts as vCard or CSV, or calendars as iCalendar
      conflicts     Show changes of other devices that were refused, and take them
      check         Check the store for damage
      backup        Copy the store while it is in use
      restore       Restore a backup
      undo          Undo the last changes, whoever made them
      purge         Erase for good, now: the trash and earlier versions, or single records
      sync          Keep the store in step with accounts on CardDAV and CalDAV servers
      serve         Serve the store to phones and other devices
      eds           Serve the store to desktop programs, as Evolution Data Server
      dbus          Serve the store to programs on the session bus, by the name org.etui.Store1
      media         Find music and pictures in folders, and list them
      settings      Show or change the locale and the region of the store
      stats         Show store statistics
      generate      Generate test contacts, a test calendar, or music and pictures
      lab           Repeat the storage studies on this machine (runs etui-lab)
      completions   Generate shell completions
      man           Generate manual pages

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
          --store <PATH>        Store file [default: etui/personal.etui in your data directory] [env:
                                ETUI_STORE]
          --addressbook <NAME>  Address book [default: the first one; for list, find and show: all]
          --json                Print JSON, one object per line
          --color <WHEN>        Use colour; auto: on a terminal, unless NO_COLOR is set [default: auto]
                                [possible values: auto, always, never]
      -q, --quiet               Print only the requested data
    ");
    session!(home, ["etui contacts --help | sed '/^Global/,$d'"], @r"
    $ etui contacts --help | sed '/^Global/,$d'
    List, find, show and change contacts

    Usage: etui contacts [OPTIONS] <COMMAND>

    Commands:
      list        List contacts by name
      find        Find contacts
      labels      List the labels of contacts, with the number of each
      show        Show contacts in full
      add         Add a contact
      edit        Change a contact
      remove      Remove contacts [alias: rm]
      restore     Undo the latest change of contacts, including a removal
      history     List, compare and bring back earlier versions of a contact
      copy        Copy contacts to another address book
      move        Move contacts to another address book
      duplicates  Find contacts that are perhaps the same person
      merge       Merge contacts into one
      birthdays   List birthdays and anniversaries
      query       Print the e-mail addresses of matching contacts for a mail program
      photo       Write the picture of a contact to a file
      watch       Print changes as they happen

    Options:
      -h, --help  Print help
    ");
    session!(home, ["etui contacts find --help | sed '/^Global/,$d'"], @r"
    $ etui contacts find --help | sed '/^Global/,$d'
    Find contacts

    Usage: etui contacts find [OPTIONS] <FILTER>...

    Arguments:
      <FILTER>...  Filter; several words are joined by spaces

    Options:
          --fields <NAME,...>  Fields to show: id, name, org, phone, email, uid, etag, family, given,
                               nick, phones, emails, categories, note, address, city, birthday, card
          --sort <ORDER>       Order: by name, by time of addition, or unordered (none, the fastest); -:
                               descending [default: name; of `find` the best match first] [possible
                               values: name, -name, added, -added, none]
          --limit <N>          Maximum number of rows [default: 50 on a terminal, else all]
          --all                Show all rows
          --at <N>             Start at position N, counted from 0 [default: 0] [alias: --offset]
          --after <CURSOR>     Start after this cursor: `next` in the output of --json --limit
          --exact              No corrections, and in the order of the list; contacts: plain words are
                               not looked for in notes, titles, postal addresses, labels and domains
          --count              Print only the number of matches
          --explain            Print the query plan and its costs instead of the matches
      -h, --help               Print help
    ");
}

#[test]
fn help_on_collections_speaks_of_their_kind() {
    let home = TestHome::new();
    session!(home, [
        "etui calendars --help | sed -n '/^Commands/,/^$/p'",
        "etui addressbooks --help | sed -n '/^Commands/,/^$/p'",
        "etui addressbooks restore --help | sed '/^Global/,/^$/d'",
        "etui calendars removed --help | sed -n '/^Examples/,$p'",
        "etui calendars remove --help | sed -n '/^Arguments/,/^$/p; /^Options:/,/^$/p; /^Examples/,$p'",
        "etui calendars show",
        "etui addressbooks --create Work",
    ], @r#"
    $ etui calendars --help | sed -n '/^Commands/,/^$/p'
    Commands:
      list       List the calendars, as without a command
      create     Create a calendar
      rename     Rename a calendar
      remove     Remove a calendar and its entries [alias: rm]
      color      Show, set or clear the colour of a calendar [alias: colour]
      subscribe  Subscribe to a calendar that is published as a file (ICS, webcal)
      restore    Restore a removed calendar
      removed    List the calendars that can be restored

    $ etui addressbooks --help | sed -n '/^Commands/,/^$/p'
    Commands:
      list     List the address books, as without a command
      create   Create an address book
      rename   Rename an address book
      remove   Remove an address book and its contacts [alias: rm]
      restore  Restore a removed address book
      removed  List the address books that can be restored

    $ etui addressbooks restore --help | sed '/^Global/,/^$/d'
    Restore a removed address book

    Usage: etui addressbooks restore [OPTIONS] <NAME|--id <ID>>

    Arguments:
      [NAME]  Name; of several, the most recently removed one

    Options:
          --id <ID>   Number in the first column of `removed`
          --as <NEW>  Restore it under this name
      -h, --help      Print help

    Examples:
      etui addressbooks restore Work             the most recently removed one of this name
      etui addressbooks restore --id 3           by the number that `removed` lists
      etui addressbooks restore Work --as Job    under another name

    The contacts that were removed with it are restored too; those removed before stay in the trash.
    If its name is in use again, give it another one with --as.
    $ etui calendars removed --help | sed -n '/^Examples/,$p'
    Examples:
      etui calendars removed
      etui calendars restore Work       by name: the most recently removed one
      etui calendars restore --id 3     by the number in the first column

    The most recent one is first. Each is kept for at least 30 days, and as long as its entries are in
    the trash.
    $ etui calendars remove --help | sed -n '/^Arguments/,/^$/p; /^Options:/,/^$/p; /^Examples/,$p'
    Arguments:
      <NAME>  

    Options:
      -y, --yes   Do not ask for confirmation
      -h, --help  Print help

    Examples:
      etui calendars remove Work        asks for confirmation unless it is empty
      etui calendars remove Work --yes
      etui calendars removed            list removed ones, and until when they are kept
      etui calendars restore Work       restore it, within 30 days

    If its entries change while the question waits, nothing is removed. The last calendar cannot be
    removed.
    $ etui calendars show
    error: unrecognized subcommand 'show'

    Usage: etui calendars [OPTIONS] [COMMAND]

    For more information, try '--help'.
    [exit 2]
    $ etui addressbooks --create Work
    error: unexpected argument '--create' found

    Usage: etui addressbooks [OPTIONS] [COMMAND]

    For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn every_command_has_examples() {
    let home = TestHome::new();
    for command in [
        "demo",
        "init",
        "import",
        "export",
        "check",
        "backup",
        "calendar remind",
        "restore",
        "stats",
        "generate",
        "completions",
        "man",
        "contacts",
        "contacts list",
        "contacts find",
        "contacts show",
        "contacts add",
        "contacts edit",
        "contacts remove",
        "contacts restore",
        "contacts watch",
        "addressbooks",
        "addressbooks create",
        "addressbooks rename",
        "addressbooks remove",
        "addressbooks removed",
        "addressbooks restore",
        "calendars",
        "calendars color",
        "calendars create",
        "calendars rename",
        "calendars remove",
        "calendars removed",
        "calendars restore",
    ] {
        let (text, code) = home.run(&format!("etui {command} --help"));
        assert_eq!(code, Some(0), "{command}");
        assert!(text.contains("Examples:\n  "), "{command}: {text}");
        assert!(
            text.lines().all(|l| l.chars().count() <= 100),
            "{command}: {text}"
        );
    }
}

#[test]
fn manual_pages_keep_the_examples_as_they_are_written() {
    let home = TestHome::new();
    assert_eq!(home.run("etui -q man pages").1, Some(0));
    session!(home, [
        "sed -n '/^.SH EXAMPLES/,$p' pages/etui-calendars-rename.1",
        "sed -n '/^.SH NOTES/,$p' pages/etui-contacts-find.1 | head -9",
    ], @r#"
    $ sed -n '/^.SH EXAMPLES/,$p' pages/etui-calendars-rename.1
    .SH EXAMPLES
    .nf
      etui calendars rename Work "Old job"
      etui calendars rename \-\- \-x Work  a name that begins with \-

    Nothing else changes: a running \(gawatch\(ga continues, and sync tokens stay valid.
    .fi
    $ sed -n '/^.SH NOTES/,$p' pages/etui-contacts-find.1 | head -9
    .SH NOTES
    .nf
    A word matches the beginning of a word: \(gaann\(ga finds Anna and Annika. Case and accents are ignored,
    and umlauts may be spelled out: \(gamuller\(ga and \(gamueller\(ga find Müller. Matches in names are first,
    then those in organisations, e\-mail addresses and phone numbers, then those in titles, postal
    addresses, notes, labels and e\-mail domains; people are before organisations. If nothing matches,
    a word of four letters or more may have one typing mistake: \(gamullr\(ga finds Müller, and a note on
    standard error says so.
    "#);
    // Each line of the help after the options is one of the page.
    for command in [
        "",
        "-calendar-add",
        "-calendar-remind",
        "-contacts-find",
        "-man",
    ] {
        let page = std::fs::read_to_string(home.path(&format!("pages/etui{command}.1"))).unwrap();
        let plain = [
            ("\\-", "-"),
            ("\\(aq", "'"),
            ("\\(ga", "`"),
            ("\\(ha", "^"),
            ("\\(ti", "~"),
        ];
        let page = plain
            .iter()
            .fold(page, |page, (of, to)| page.replace(of, to));
        let page = page.replace("\\&", "").replace("\\e", "\\");
        let (_, filled) = page.split_once("\n.nf\n").unwrap();
        let help = home
            .run(&format!("etui{} --help", command.replace('-', " ")))
            .0;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        for line in examples.lines() {
            assert!(
                filled.lines().any(|l| l == line),
                "{command}: {line}\n{filled}"
            );
        }
    }
    // Nothing that roff complains about.
    let (out, code) =
        home.run("for p in pages/*.1; do groff -man -ww -Tutf8 -z $p || exit 1; done");
    assert!(code == Some(0) || out.contains("groff: not found"), "{out}");
}

#[test]
fn mistyped_commands_get_a_hint() {
    let home = TestHome::new();
    session!(home, [
        "etui contcts",
        "etui contacts lst",
        "etui import --jsn",
        "etui calendar add Lunch --strat monday 2>&1 | head -3",
        "etui calendar add --titel Lunch 2>&1 | head -3",
        "etui contacts find -emial:x 2>&1 | head -3",
        "etui 2>&1 | head -3",
    ], @r"
    $ etui contcts
    error: unrecognized subcommand 'contcts'

      tip: some similar subcommands exist: 'conflicts', 'contact', 'contacts'

    Usage: etui [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ etui contacts lst
    error: unrecognized subcommand 'lst'

      tip: a similar subcommand exists: 'list'

    Usage: etui contacts [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ etui import --jsn
    error: unexpected argument '--jsn' found

      tip: a similar argument exists: '--json'

    Usage: etui import --json <FILE>...

    For more information, try '--help'.
    [exit 2]
    $ etui calendar add Lunch --strat monday 2>&1 | head -3
    error: unexpected argument '--strat' found

      tip: a similar argument exists: '--start'
    $ etui calendar add --titel Lunch 2>&1 | head -3
    error: unexpected argument '--titel' found

    Usage: etui calendar add [OPTIONS] <TITLE>
    $ etui contacts find -emial:x 2>&1 | head -3
    error: unexpected argument '-e' found

      tip: to pass '-e' as a value, use '-- -e'
    $ etui 2>&1 | head -3
    Contacts and calendars in one file on your own device

    Usage: etui [OPTIONS] <COMMAND>
    ");
}

#[test]
fn manual_pages_and_completions() {
    let home = TestHome::new();
    session!(home, [
        "etui man | head -4",
        "etui man pages && ls pages | tr '\\n' ' '",
        "etui completions fish | grep -c contacts > n; test $(cat n) -gt 10",
        "etui completions zsh | head -1",
        "etui completions bash | bash -n",
    ], @r#"
    $ etui man | head -4
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .TH etui 1  "etui 0.1.0" 
    .SH NAME
    $ etui man pages && ls pages | tr '\n' ' '
    Wrote the manual pages to pages
    etui-addressbooks-create.1 etui-addressbooks-list.1 etui-addressbooks-remove.1 etui-addressbooks-removed.1 etui-addressbooks-rename.1 etui-addressbooks-restore.1 etui-addressbooks.1 etui-backup.1 etui-calendar-add.1 etui-calendar-agenda.1 etui-calendar-alarms.1 etui-calendar-copy.1 etui-calendar-done.1 etui-calendar-edit.1 etui-calendar-find.1 etui-calendar-freebusy.1 etui-calendar-history.1 etui-calendar-labels.1 etui-calendar-list.1 etui-calendar-month.1 etui-calendar-move.1 etui-calendar-remind.1 etui-calendar-remove.1 etui-calendar-restore.1 etui-calendar-show.1 etui-calendar-skip.1 etui-calendar-todos.1 etui-calendar-watch.1 etui-calendar.1 etui-calendars-color.1 etui-calendars-create.1 etui-calendars-list.1 etui-calendars-remove.1 etui-calendars-removed.1 etui-calendars-rename.1 etui-calendars-restore.1 etui-calendars-subscribe.1 etui-calendars.1 etui-check.1 etui-completions.1 etui-conflicts-forget.1 etui-conflicts-list.1 etui-conflicts-show.1 etui-conflicts-take.1 etui-conflicts.1 etui-contacts-add.1 etui-contacts-birthdays.1 etui-contacts-copy.1 etui-contacts-duplicates.1 etui-contacts-edit.1 etui-contacts-find.1 etui-contacts-history.1 etui-contacts-labels.1 etui-contacts-list.1 etui-contacts-merge.1 etui-contacts-move.1 etui-contacts-photo.1 etui-contacts-query.1 etui-contacts-remove.1 etui-contacts-restore.1 etui-contacts-show.1 etui-contacts-watch.1 etui-contacts.1 etui-dbus.1 etui-demo.1 etui-eds-off.1 etui-eds-on.1 etui-eds-serve.1 etui-eds-status.1 etui-eds-try.1 etui-eds.1 etui-export.1 etui-generate.1 etui-import.1 etui-init.1 etui-lab.1 etui-man.1 etui-media-albums.1 etui-media-artists.1 etui-media-cover.1 etui-media-days.1 etui-media-favourite.1 etui-media-find.1 etui-media-folders.1 etui-media-genres.1 etui-media-history.1 etui-media-pictures.1 etui-media-play.1 etui-media-playlist-add.1 etui-media-playlist-delete.1 etui-media-playlist-export.1 etui-media-playlist-import.1 etui-media-playlist-list.1 etui-media-playlist-move.1 etui-media-playlist-new.1 etui-media-playlist-remove.1 etui-media-playlist-rename.1 etui-media-playlist-show.1 etui-media-playlist.1 etui-media-problems.1 etui-media-rate.1 etui-media-scan.1 etui-media-show.1 etui-media-stats.1 etui-media-tracks.1 etui-media-undo.1 etui-media.1 etui-purge.1 etui-restore.1 etui-serve-add-device.1 etui-serve-add-person.1 etui-serve-change-device.1 etui-serve-devices.1 etui-serve-people.1 etui-serve-remove-device.1 etui-serve-share.1 etui-serve-shares.1 etui-serve-unshare.1 etui-serve.1 etui-settings-locale.1 etui-settings-region.1 etui-settings.1 etui-stats.1 etui-sync-add.1 etui-sync-conflicts.1 etui-sync-from-vdirsyncer.1 etui-sync-login.1 etui-sync-remove.1 etui-sync-status.1 etui-sync-subscribe.1 etui-sync.1 etui-undo.1 etui.1 
    $ etui completions fish | grep -c contacts > n; test $(cat n) -gt 10
    $ etui completions zsh | head -1
    #compdef etui
    $ etui completions bash | bash -n
    "#);
}

#[test]
fn tips_name_the_commands_of_etui() {
    let home = TestHome::with_people();
    session!(home, [
        "etui agenda; etui find ann; etui devices",
        "etui contacts find not anna; etui contacts find '! anna' 2>&1 | head -1; etui contacts find --fields name -- -anna | head -2",
        "etui calendar add 'Lunch 2026-03-05 12:30' --notes 'at noon' --repeat weekly --json | sed 's/.*\"outcome/\"outcome/' | cut -c1-330",
    ], @r#"
    $ etui agenda; etui find ann; etui devices
    error: unrecognized subcommand 'agenda'

      tip: did you mean: etui calendar agenda

    Usage: etui [OPTIONS] <COMMAND>

    For more information, try '--help'.
    error: unrecognized subcommand 'find'

      tip: did you mean: etui contacts find
      tip: did you mean: etui calendar find
      tip: did you mean: etui media find

    Usage: etui [OPTIONS] <COMMAND>

    For more information, try '--help'.
    error: unrecognized subcommand 'devices'

      tip: did you mean: etui serve devices

    Usage: etui [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    $ etui contacts find not anna; etui contacts find '! anna' 2>&1 | head -1; etui contacts find --fields name -- -anna | head -2
    error: no contact matches: not anna; to leave out those with "anna", put a minus before it: etui contacts find -- -anna
    error: no contact matches: ! anna; to leave out those with "anna", put a minus before it: etui contacts find -- -anna
    Name
    Bob Öst
    $ etui calendar add 'Lunch 2026-03-05 12:30' --notes 'at noon' --repeat weekly --json | sed 's/.*"outcome/"outcome/' | cut -c1-330
    "outcome":"added","kind":"event","title":"Lunch","place":null,"notes":"at noon","start":"2026-03-05T12:30:00+01:00","end":null,"due":null,"duration":"PT1H","all_day":false,"zone":"Europe/Berlin","rules":["FREQ=WEEKLY"],"dates":[],"exception_dates":[],"instance":null,"this_and_future":false,"status":null,"class":"public","transpa
    "#);
}
