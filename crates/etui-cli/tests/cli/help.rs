//! Help, manual pages, completions.

use crate::harness::{TestHome, session};

#[test]
fn help_teaches() {
    let home = TestHome::new();
    session!(home, ["etui --help"], @"
    $ etui --help
    Personal data kept on your own device, in one file

    Usage: etui [OPTIONS] <COMMAND>

    Commands:
      demo         Show what etui does, on an address book and a calendar made up for it
      init         Make a store
      import       Bring in files of contacts and calendars
      contacts     Find, show and change contacts
      calendar     Show what is on, find and change it
      export       Take contacts out as vCards, or calendars as iCalendar
      check        Check that the store is whole
      backup       Copy the store, while it is in use
      restore      Bring back a backup
      recover      Make a database that was left with a redo log an ordinary one
      stats        Tell figures about the store
      generate     Make up an address book or a calendar, to try things with
      lab          Repeat the studies that etui is built from, on this machine
      completions  Write a completion script for a shell
      man          Write the manual pages

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Options of all commands:
          --store <PATH>  The store's file [default: etui/personal.etui in your data directory] [env:
                          ETUI_STORE]
          --addressbook <NAME>   The address book [default: the first one]
          --vfs <VFS>     What writes the store: SQLite alone, or etui's redo log, which costs a durable
                          save fewer bytes and admits one program at a time [env: ETUI_VFS] [default:
                          system] [possible values: system, etui]
          --json          Write JSON, one object a line
          --color <WHEN>  Use colour; auto: on a terminal, unless NO_COLOR is set [default: auto]
                          [possible values: auto, always, never]
      -q, --quiet         Say nothing but what was asked for

    Examples:
      etui demo                          see what it does, on data made up for you
      etui import contacts.vcf           bring in your own contacts
      etui import calendar.ics           ... and calendars
      etui contacts find ann             who was Ann again?
      etui contacts show 17              all about contact number 17
      etui calendar agenda week          what is on this week
      etui export -o contacts.vcf        take everything out again, byte for byte

    Exit codes: 0 done, 1 failed, 2 not understood, 3 something was refused, 4 nothing found,
    5 changed meanwhile, 6 the store cannot be used, 7 the store is damaged.
    ");
    session!(home, ["etui contacts --help"], @r#"
    $ etui contacts --help
    Find, show and change contacts

    Usage: etui contacts [OPTIONS] <COMMAND>

    Commands:
      list     List contacts in order
      find     Find contacts
      show     Show all about a contact
      add      Add a contact
      edit     Change a contact
      remove   Remove contacts [alias: rm]
      restore  Undo a contact's latest change, also a removal
      watch    Tell of changes as they happen
      books    List address books; make, rename, remove one, bring one back

    Options:
      -h, --help  Print help

    Options of all commands:
          --store <PATH>  The store's file [default: etui/personal.etui in your data directory] [env:
                          ETUI_STORE]
          --addressbook <NAME>   The address book [default: the first one]
          --vfs <VFS>     What writes the store: SQLite alone, or etui's redo log, which costs a durable
                          save fewer bytes and admits one program at a time [env: ETUI_VFS] [default:
                          system] [possible values: system, etui]
          --json          Write JSON, one object a line
          --color <WHEN>  Use colour; auto: on a terminal, unless NO_COLOR is set [default: auto]
                          [possible values: auto, always, never]
      -q, --quiet         Say nothing but what was asked for

    Examples:
      etui contacts list                         everybody, in order
      etui contacts find mull                    names, organisations, e-mail, phones; finds Müller too
      etui contacts show 17                      all about number 17
      etui contacts add --name "Ada Lovelace" --email ada@example.org
      etui contacts edit 17 --set phone="+44 20 7946 0123"
      etui contacts remove 17
      etui contacts restore 17                   undo the latest change, whatever it was

    ID is the number in the first column of lists, or a UID.
    "#);
    session!(home, ["etui contacts find --help"], @r#"
    $ etui contacts find --help
    Find contacts

    Usage: etui contacts find [OPTIONS] <FILTER>...

    Arguments:
      <FILTER>...  What to look for; words are joined by spaces

    Options:
          --fields <NAME,...>  Show these fields: id, name, org, phone, email, uid, etag, family, given,
                               nick, phones, emails, categories, note, card
          --sort <ORDER>       Order: by name, as they were added, or as they are found, the quickest;
                               -: from the end [default: name] [possible values: name, -name, added,
                               -added, found]
          --limit <N>          Show this many [default: 50 on a terminal, else all]
          --all                Show all
          --at <N>             From position N on, the first being 0 [default: 0] [alias: --offset]
          --after <PLACE>      From this place on: `next` of an answer with --json and --limit
          --count              Tell only how many there are
          --explain            Tell how the answer is found, and what is read for it, instead of the
                               answer
      -h, --help               Print help

    Options of all commands:
          --store <PATH>  The store's file [default: etui/personal.etui in your data directory] [env:
                          ETUI_STORE]
          --addressbook <NAME>   The address book [default: the first one]
          --vfs <VFS>     What writes the store: SQLite alone, or etui's redo log, which costs a durable
                          save fewer bytes and admits one program at a time [env: ETUI_VFS] [default:
                          system] [possible values: system, etui]
          --json          Write JSON, one object a line
          --color <WHEN>  Use colour; auto: on a terminal, unless NO_COLOR is set [default: auto]
                          [possible values: auto, always, never]
      -q, --quiet         Say nothing but what was asked for

    A word is looked for in names, organisations, e-mail addresses and phone numbers, and may go on:
    `ann` finds Anna and Annika. Case and accents do not matter: `muller` finds Müller.

      ann acme              both                 name:anna            in one field
      ann or bob            either               name:ann*            begins so
      -acme                 not                  name:*son            ends so
      (a or b) -c           in groups            org:*soft*           contains
      *                     all                  given=anna           is the whole value
      email:*               has any              name:"van der Berg"  several words

    Fields: name (display, family, given, nick), org, email, phone, category, note, any.
    Phone numbers are found however they are written: phone:+493023125001 finds 030 23125-001;
    phone:*5001 goes by the end, as caller ID does.

    Examples:
      etui contacts find ann
      etui contacts find 'name:mül* -email:*@example.org'
      etui contacts find org:acme or category:work
      etui contacts find 'phone:*0123' --json

      etui contacts find org:acme --fields name,phones,emails     what to show of each
      etui contacts find category:work --fields card > work.vcf   the vCards themselves
      etui contacts find '*' --sort -added --limit 10             the ten added last
      etui contacts find acme --limit 20 --at 40                  the third page of 20
      etui contacts find '-email:*' --count                       how many have no e-mail address?
      etui contacts find 'org:*soft*' --explain                   how is that looked up?

    Page after page, complete also while others add and remove contacts:
      etui contacts find acme --json --limit 20                   the last line's `next` is a place
      etui contacts find acme --json --limit 20 --after PLACE     what comes behind it

    Put filters with * ( ) or " into single quotes, so that the shell leaves them alone.
    The exit code is 4 when nobody is found, but for --count and --explain, which have an answer then.
    "#);
}

#[test]
fn help_on_collections_speaks_of_their_kind() {
    let home = TestHome::new();
    session!(home, [
        "etui calendars --help | sed -n '/^Commands/,/^$/p; /^Examples/,$p'",
        "etui addressbooks --help | sed -n '/^Commands/,/^$/p; /^Examples/,$p'",
        "etui addressbooks restore --help | sed '/^Options of all/,/^$/d'",
        "etui calendars removed --help | sed -n '/^Examples/,$p'",
        "etui calendars remove --help | sed -n '/^Arguments/,/^$/p; /^Options:/,/^$/p; /^Examples/,$p'",
        "etui calendars list",
        "etui addressbooks --create Work",
    ], @r#"
    $ etui calendars --help | sed -n '/^Commands/,/^$/p; /^Examples/,$p'
    Commands:
      create   Make a calendar
      rename   Give a calendar another name
      remove   Remove a calendar with all that is in it [alias: rm]
      restore  Bring back a calendar that was removed
      removed  List what was removed and can be brought back

    Examples:
      etui calendars                        which there are, and how many entries they have
      etui calendars create Work
      etui import --calendar Work work.ics
      etui calendars rename Work "Old job"
      etui calendars remove "Old job"
      etui calendars removed                which can be brought back, and until when
      etui calendars restore "Old job"

    The first one is used where none is named; when it is removed, the next one is. The last one stays.
    Removed calendars come back with the entries that were removed with them.
    $ etui addressbooks --help | sed -n '/^Commands/,/^$/p; /^Examples/,$p'
    Commands:
      create   Make an address book
      rename   Give an address book another name
      remove   Remove an address book with all that is in it [alias: rm]
      restore  Bring back an address book that was removed
      removed  List what was removed and can be brought back

    Examples:
      etui addressbooks                            which there are, and how many contacts they have
      etui addressbooks create Work
      etui --addressbook Work import colleagues.vcf
      etui addressbooks rename Work "Old job"
      etui addressbooks remove "Old job"
      etui addressbooks removed                    which can be brought back, and until when
      etui addressbooks restore "Old job"

    The first one is used where none is named; when it is removed, the next one is. The last one stays.
    Removed address books come back with the contacts that were removed with them.
    $ etui addressbooks restore --help | sed '/^Options of all/,/^$/d'
    Bring back an address book that was removed

    Usage: etui addressbooks restore [OPTIONS] <NAME|--id <ID>>

    Arguments:
      [NAME]  Its name; of several, that which was removed last is meant

    Options:
          --id <ID>   Its number, from the first column of `removed`
          --as <NEW>  Give it this name
      -h, --help      Print help

    Examples:
      etui addressbooks restore Work             of several, that which was removed last
      etui addressbooks restore --id 3           by the number that `removed` tells
      etui addressbooks restore Work --as Job    under another name

    It comes back with the contacts that were removed with it; what was removed from it before
    stays in the trash. If another one has its name by now, one of them needs another name.
    $ etui calendars removed --help | sed -n '/^Examples/,$p'
    Examples:
      etui calendars removed
      etui calendars restore Work       by its name; of several, that which was removed last
      etui calendars restore --id 3     by the number in the first column

    The latest comes first. It is kept for 30 days at the least, and as long as its entries are
    in the trash.
    $ etui calendars remove --help | sed -n '/^Arguments/,/^$/p; /^Options:/,/^$/p; /^Examples/,$p'
    Arguments:
      <NAME>  Its name

    Options:
      -y, --yes   Remove it without asking, whatever is in it
      -h, --help  Print help

    Examples:
      etui calendars remove Work        asks first, unless it is empty
      etui calendars remove Work --yes
      etui calendars removed            what was removed, and until when it is kept
      etui calendars restore Work       bring it back, within 30 days

    If something comes in or goes while it asks, nothing is removed. The last calendar stays.
    $ etui calendars list
    error: unrecognized subcommand 'list'

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
fn mistyped_commands_get_a_hint() {
    let home = TestHome::new();
    session!(home, [
        "etui contcts",
        "etui contacts lst",
        "etui import --jsn",
        "etui | head -3",
    ], @"
    $ etui contcts
    error: unrecognized subcommand 'contcts'

      tip: some similar subcommands exist: 'contact', 'contacts'

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
    $ etui | head -3
    Personal data kept on your own device, in one file

    Usage: etui [OPTIONS] <COMMAND>

    Commands:
      demo         Show what etui does, on an address book and a calendar made up for it
      init         Make a store
      import       Bring in files of contacts and calendars
      contacts     Find, show and change contacts
      calendar     Show what is on, find and change it
      export       Take contacts out as vCards, or calendars as iCalendar
      check        Check that the store is whole
      backup       Copy the store, while it is in use
      restore      Bring back a backup
      recover      Make a database that was left with a redo log an ordinary one
      stats        Tell figures about the store
      generate     Make up an address book or a calendar, to try things with
      lab          Repeat the studies that etui is built from, on this machine
      completions  Write a completion script for a shell
      man          Write the manual pages

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Options of all commands:
          --store <PATH>  The store's file [default: etui/personal.etui in your data directory] [env:
                          ETUI_STORE]
          --addressbook <NAME>   The address book [default: the first one]
          --vfs <VFS>     What writes the store: SQLite alone, or etui's redo log, which costs a durable
                          save fewer bytes and admits one program at a time [env: ETUI_VFS] [default:
                          system] [possible values: system, etui]
          --json          Write JSON, one object a line
          --color <WHEN>  Use colour; auto: on a terminal, unless NO_COLOR is set [default: auto]
                          [possible values: auto, always, never]
      -q, --quiet         Say nothing but what was asked for

    Examples:
      etui demo                          see what it does, on data made up for you
      etui import contacts.vcf           bring in your own contacts
      etui import calendar.ics           ... and calendars
      etui contacts find ann             who was Ann again?
      etui contacts show 17              all about contact number 17
      etui calendar agenda week          what is on this week
      etui export -o contacts.vcf        take everything out again, byte for byte

    Exit codes: 0 done, 1 failed, 2 not understood, 3 something was refused, 4 nothing found,
    5 changed meanwhile, 6 the store cannot be used, 7 the store is damaged.
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
    etui-backup.1 etui-calendar-add.1 etui-calendar-agenda.1 etui-calendar-alarms.1 etui-calendar-calendars-create.1 etui-calendar-calendars-remove.1 etui-calendar-calendars-removed.1 etui-calendar-calendars-rename.1 etui-calendar-calendars-restore.1 etui-calendar-calendars.1 etui-calendar-edit.1 etui-calendar-find.1 etui-calendar-freebusy.1 etui-calendar-list.1 etui-calendar-remove.1 etui-calendar-restore.1 etui-calendar-show.1 etui-calendar-watch.1 etui-calendar.1 etui-check.1 etui-completions.1 etui-contacts-add.1 etui-contacts-books-create.1 etui-contacts-books-remove.1 etui-contacts-books-removed.1 etui-contacts-books-rename.1 etui-contacts-books-restore.1 etui-contacts-books.1 etui-contacts-edit.1 etui-contacts-find.1 etui-contacts-list.1 etui-contacts-remove.1 etui-contacts-restore.1 etui-contacts-show.1 etui-contacts-watch.1 etui-contacts.1 etui-demo.1 etui-export.1 etui-generate.1 etui-import.1 etui-init.1 etui-lab.1 etui-man.1 etui-recover.1 etui-restore.1 etui-stats.1 etui.1 
    $ etui completions fish | grep -c contacts > n; test $(cat n) -gt 10
    $ etui completions zsh | head -1
    #compdef etui
    $ etui completions bash | bash -n
    "#);
}
