//! Help texts of the `etui calendar` commands.

use crate::commands::records::RecordHelp;

pub const ENTRIES: RecordHelp = RecordHelp {
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
  etui calendar labels
  etui calendar labels --json
  etui calendar find category:work             the records with a label
  etui calendar edit 17 --set label=Work

Labels are the entries of CATEGORIES, those of all calendars.";

const FIND: &str = "\
A word matches the beginning of a word in titles, locations and notes: `dent` finds Dentist. Case
and accents are ignored, and umlauts may be spelled out. If nothing matches, a word of four
letters or more may have one typing mistake: `dentst` finds Dentist, and a note on standard error
says so.

  dentist monday        both                 title:dentist        in one field
  lunch or dinner       either               title:dent*          begins with
  -lunch                not                  title:*ist           ends with
  (a or b) -c           groups               place:*soft*         contains
  *                     all entries          title=lunch          is the whole value
  place:*               has any              place:\"City Hall\"    a phrase

All calendars are searched, or the one given with --calendar.

Fields: title, place, notes, category, kind (event, todo, journal), status (confirmed, tentative,
cancelled, needs-action, in-process, completed, draft, final), due (2026-12-24, 2026-12, <2027), any.

Examples:
  etui calendar find dentist
  etui calendar find dentist --next             when it is next, in one line
  etui calendar find 'due:<2027 -status:completed'
  etui calendar find 'kind:todo -category:done'
  etui calendar find 'place:*berlin*' --sort -start --limit 10
  etui calendar find 'title:lunch*' --fields id,start,title,notes
  etui calendar find category:work --json
  etui calendar find 'place:*' --count
  etui calendar find 'title:*soft*' --explain

For pages see `etui calendar list --help`. Put filters with * ( ) or \" into single quotes, so that
the shell leaves them alone. Arguments that begin with - are options; a filter that begins with -
goes after --. The exit code is 4 when nothing matches, except with --count and --explain.
`etui calendar agenda` shows the occurrences in a period.";

const LIST: &str = "\
A recurring entry is listed once, at its first occurrence; `etui calendar agenda` shows all
occurrences. Entries without a time are at the end.

All calendars are listed together, or the one given with --calendar. On a terminal, they are browsed,
one at a time and from today on, and entries are changed there:
  /                     search as you type, with the filters of `etui calendar find`
  Enter, Esc            use the search result; back to the whole list
  arrows, j, k, g, G    move; also PgUp, PgDn, Home, End
  left, right, Ctrl-G   previous year, next year, any year: Ctrl-G 6 goes to a year ending in 6
  Tab                   next calendar
  Enter                 show the entry
  a, e, d, u            add, edit, remove, undo the last change
  Space                 complete a to-do, or open it again
  y                     copy the text, the title, the place to the clipboard
  ?, q                  all keys; quit

Examples:
  etui calendar list                         open the browser (in a pipe: print all entries)
  etui calendar list --no-pager              the first 50
  etui calendar list --sort -start           the latest first
  etui calendar list --sort -added --limit 5 the five added last
  etui calendar list --fields id,start,title,status
  etui calendar list --json | jq -r .title
  etui calendar list --fields record         the iCalendar text of each entry

Pages that stay complete while others add and remove entries:
  etui calendar list --json --limit 100                   `next` in the last line is a cursor
  etui calendar list --json --limit 100 --after CURSOR    the page after it";

const SHOW: &str = "\
Examples:
  etui calendar show 17
  etui calendar show dentist                 if only one entry matches
  etui calendar show 17 --ics                print the iCalendar text, byte for byte
  etui calendar show 17 --json
  etui calendar show 17 --zone America/New_York

Times are shown in their own zone, and in the display zone (--zone) if that differs. All calendars
are searched, or the one given with --calendar. If several entries match, they are listed, and the
exit code is 2.";

const REMOVE: &str = "\
Examples:
  etui calendar remove 17
  etui calendar remove 17 18 19
  etui calendar remove dentist               by title, if there is one match
  etui calendar remove --where 'kind:todo category:done' --dry-run
  etui calendar restore 17                   restore it, within 30 days

A recurring entry is removed with all its occurrences. If one of them does not exist, none is
removed.";

const RESTORE: &str = "\
Examples:
  etui calendar restore 17                   restore a removed entry, or undo its latest change
  etui calendar restore 17                   a second time: redo the change; see `history` for older ones
  etui calendar restore --list               list the trash

Removed entries and earlier versions are kept for 30 days.";

const HISTORY: &str = "\
Examples:
  etui calendar history 17                   versions, the latest first, and what each changed
  etui calendar history 17 --diff 305        the lines that version 305 changed
  etui calendar history 17 --diff 305 --with 17
  etui calendar history 17 --show 305        the entry as it was
  etui calendar history 17 --show 305 --ics
  etui calendar history 17 --restore 305     bring version 305 back; this is a new version

A version has the number of the change that made it. Versions are kept for 30 days after they were
replaced or removed. `etui calendar restore --list` lists the removed entries.";

const COPY: &str = "\
Examples:
  etui calendar copy --to Work 17 18
  etui calendar copy --to Work --where category:project --dry-run

A copy keeps its UID. If the calendar has another entry with that UID, nothing is copied.";

const WATCH: &str = "\
Examples:
  etui calendar watch                        all changes in the calendar
  etui calendar watch kind:todo or place:berlin
  etui calendar watch --initial 'category:*' first the existing matches, then their changes
  etui calendar watch --json --since \"$(cat token)\"

  12:30:07Z + 17 Jour fixe                   added, or matches the filter now
  12:30:09Z ~ 17 Jour fixe: place, notes     changed, with the changed fields
  12:30:10Z - 17 Jour fixe                   removed, or no longer matches
  12:30:12Z ! The calendar Work was renamed to Job

Changes of all programs are reported once each and in order; simultaneous changes of one entry are
merged. The command runs until Ctrl-C or until its output is closed. It follows a calendar that is
renamed, and exits with 4 when the calendar is removed. With --json, a line with a token follows
each batch. A reader that restarts with --since and its last token misses no change and gets none
twice. Tokens are valid for at least 30 days. Times are in UTC. A change of time alone is reported
as a change of details.";
