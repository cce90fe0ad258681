//! Help texts of the `etui contacts` commands.

use crate::commands::records::RecordHelp;

pub const CONTACTS: RecordHelp = RecordHelp {
    list: LIST,
    find: FIND,
    labels: LABELS,
    show: SHOW,
    remove: REMOVE,
    restore: RESTORE,
    history: HISTORY,
    copy: COPY,
    watch: WATCH,
};

const LABELS: &str = "\
Examples:
  etui contacts labels
  etui contacts labels --json
  etui contacts find category:family             the records with a label
  etui contacts edit 17 --add label=Friends

Labels are the entries of CATEGORIES, those of all address books.";

const FIND: &str = "\
A word matches the beginning of a word: `ann` finds Anna and Annika. Case and accents are ignored,
and umlauts may be spelled out: `muller` and `mueller` find Müller. Matches in names are first,
then those in organisations, e-mail addresses and phone numbers, then those in titles, postal
addresses, notes, labels and e-mail domains; people are before organisations. If nothing matches,
a word of four letters or more may have one typing mistake: `mullr` finds Müller, and a note on
standard error says so.

  ann acme              both                 name:anna            in one field
  ann or bob            either               name:ann*            begins with
  -acme                 not                  name:*son            ends with
  (a or b) -c           groups               org:*soft*           contains
  *                     all contacts         given=anna           is the whole value
  email:*               has any              name:\"van der Berg\"  a phrase

Fields: name (display, family, given, nick), org, email, phone, title, address, birthday (1990,
1990-05-17, 05-17, may), category, note, kind (individual, org, group, location), any, everywhere.
Phone numbers match however they are written: phone:+493023125001 finds 030 23125-001;
phone:*5001 matches the last digits, like caller ID. Words of digits, four or more in all, find
numbers that have them in a row: 0151 2345678, '+49 (151) 2345678', 3125-001.

Examples:
  etui contacts find ann
  etui contacts find 'name:mül* -email:*@example.org'
  etui contacts find org:acme or category:work
  etui contacts find address:berlin birthday:may
  etui contacts find 'phone:*0123' --json

  etui contacts find org:acme --fields name,phones,emails     select fields
  etui contacts find category:work --fields card > work.vcf   print the vCards themselves
  etui contacts find '*' --sort -added --limit 10             the ten added last
  etui contacts find acme --limit 20 --at 40                  the third page of 20
  etui contacts find --count -- '-email:*'                    count contacts without e-mail address
  etui contacts find 'org:*soft*' --explain                   show the query plan

Pages that stay complete while others add and remove contacts:
  etui contacts find acme --json --limit 20                   `next` in the last line is a cursor
  etui contacts find acme --json --limit 20 --after CURSOR    the page after it

Put filters with * ( ) or \" into single quotes, so that the shell leaves them alone. Arguments that
begin with - are options; a filter that begins with - goes after --.
The exit code is 4 when nothing matches, except with --count and --explain.";

const LIST: &str = "\
On a terminal, the list is browsed, one address book at a time, and contacts are changed there:
  /                     search as you type, with the filters of `etui contacts find`
  Enter, Esc            use the search result; back to the whole list
  arrows, j, k, g, G    move; also PgUp, PgDn, Home, End
  left, right, Ctrl-G   previous letter, next letter, any letter: Ctrl-G M goes to M
  Tab                   next address book
  Enter                 show the contact
  a, e, d, u            add, edit, remove, undo the last change
  y                     copy the vCard, a number or an address to the clipboard
  ?, q                  all keys; quit

Examples:
  etui contacts list                         open the browser (in a pipe: print all contacts)
  etui contacts list --no-pager              the first 50
  etui contacts list --at 50 --limit 50      the next 50
  etui contacts list --letters               the position of each letter, for --at
  etui contacts list --fields id,name,phones,categories
  etui contacts list --sort -added --limit 5 the five added last
  etui contacts list --all | less
  etui contacts list --json | jq -r .email
  etui contacts list --fields card > all.vcf

Pages that stay complete while others add and remove contacts:
  etui contacts list --json --limit 100                   `next` in the last line is a cursor
  etui contacts list --json --limit 100 --after CURSOR    the page after it";

const SHOW: &str = "\
Examples:
  etui contacts show 17
  etui contacts show ada                     if only one contact matches
  etui contacts show 17 --vcard              print the vCard, byte for byte
  etui contacts show 17 --json

If several contacts match a filter, they are listed, and the exit code is 2.";

const REMOVE: &str = "\
Examples:
  etui contacts remove 17
  etui contacts remove 17 18 19
  etui contacts remove Ada Lovelace          by name, if there is one match
  etui contacts remove --where category:club --dry-run
  etui contacts restore 17                   restore it, within 30 days

If one of them does not exist, none is removed.";

const RESTORE: &str = "\
Examples:
  etui contacts restore 17                   restore a removed contact, or undo its latest change
  etui contacts restore 17                   a second time: redo the change; see `history` for older ones
  etui contacts restore --list               list the trash

Removed contacts and earlier versions are kept for 30 days.";

const HISTORY: &str = "\
Examples:
  etui contacts history 17                   versions, the latest first, and what each changed
  etui contacts history 17 --diff 305        the lines that version 305 changed
  etui contacts history 17 --diff 305 --with 17
  etui contacts history 17 --show 305        the contact as it was
  etui contacts history 17 --show 305 --vcard
  etui contacts history 17 --restore 305     bring version 305 back; this is a new version

A version has the number of the change that made it. Versions are kept for 30 days after they were
replaced or removed. `etui contacts restore --list` lists the removed contacts.";

const COPY: &str = "\
Examples:
  etui contacts copy --to Work 17 18
  etui contacts copy --to Work --where org:acme --dry-run

A copy keeps its UID. If the address book has another contact with that UID, nothing is copied.";

pub const MOVE: &str = "\
Examples:
  etui contacts move --to Work 17 18
  etui contacts move --to Work --where org:acme --dry-run
  etui --addressbook Old contacts move --to Work --where '*'

A moved contact gets a new number, and keeps its UID. Moving it back, with the command that is
printed, restores the former number. If the address book has another contact with that UID, nothing
is moved.";

const WATCH: &str = "\
Examples:
  etui contacts watch                        all changes in the address book
  etui contacts watch name:anna or org:acme  changes of matching contacts
  etui contacts watch --initial 'phone:*'    first the existing matches, then their changes
  etui contacts watch --json --since \"$(cat token)\"

  12:30:07Z + 17 Ada Lovelace                added, or matches the filter now
  12:30:09Z ~ 17 Ada Lovelace: phone, note   changed, with the changed fields
  12:30:10Z - 17 Ada Lovelace                removed, or no longer matches
  12:30:12Z ! The address book Work was renamed to Job

Changes of all programs are reported once each and in order; simultaneous changes of one contact are
merged. The command runs until Ctrl-C or until its output is closed. It follows an address book that
is renamed, and exits with 4 when the address book is removed. With --json, a line with a token
follows each batch. A reader that restarts with --since and its last token misses no change and gets
none twice. Tokens are valid for at least 30 days. Times are in UTC.";
