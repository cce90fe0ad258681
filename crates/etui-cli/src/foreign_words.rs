//! Words of other programs (khard, khal, todoman, gcalcli, abook, the shell), and etui's commands for them.

/// Verbs, and etui's own.
const VERBS: &[(&str, &[&str])] = &[
    ("add", &["new", "create", "insert", "quick", "make"]),
    ("list", &["ls", "dir", "all", "index"]),
    ("find", &["search", "query", "grep", "filter", "lookup"]),
    (
        "show",
        &[
            "details", "view", "cat", "info", "get", "open", "print", "display",
        ],
    ),
    (
        "edit",
        &["modify", "change", "update", "ed", "source", "set"],
    ),
    (
        "remove",
        &["delete", "del", "rm", "erase", "discard", "trash"],
    ),
    ("move", &["mv", "reschedule"]),
    ("copy", &["cp", "duplicate"]),
    ("restore", &["undelete", "revert"]),
    (
        "agenda",
        &["at", "calw", "today", "week", "day", "upcoming"],
    ),
    ("month", &["calm"]),
    ("todos", &["todo", "tasks", "task"]),
    ("done", &["complete", "finish", "close"]),
    ("birthdays", &["bdays", "birthday", "anniversaries"]),
    ("labels", &["tags", "groups"]),
    ("duplicates", &["dedupe", "doubles"]),
    ("history", &["log", "versions"]),
];

/// Words that are a whole command.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "addressbooks",
        &[
            "addressbook",
            "address-book",
            "addressbooks",
            "abooks",
            "abook",
            "books",
        ],
    ),
    ("calendars", &["printcalendars"]),
    (
        "calendar agenda",
        &[
            "interactive",
            "ikhal",
            "khal",
            "events",
            "event",
            "appointments",
        ],
    ),
    ("contacts", &["khard", "people", "persons", "person"]),
    (
        "contacts query",
        &["email", "emails", "mutt-query", "--mutt-query"],
    ),
    ("contacts find", &["phone", "phones", "postaddress"]),
    ("export", &["printics", "dump", "export", "save"]),
    ("import", &["import", "load"]),
    ("settings", &["configure", "config", "preferences"]),
    ("contacts restore --list", &["trash", "deleted", "removed"]),
    ("undo", &["undo", "redo"]),
    ("backup", &["backup"]),
    ("serve", &["sync", "server"]),
    ("calendar remind", &["remind", "notify"]),
    ("--help", &["help"]),
];

fn find<'k>(table: &[(&'k str, &[&str])], word: &str) -> Option<&'k str> {
    let found = table.iter().find(|(_, words)| words.contains(&word));
    found.map(|(own, _)| *own)
}

/// Returns etui's commands for an unknown word after `outer`, the commands before it: none at the top.
/// `groups` are the commands at the top, and `has` says whether the command of these words has a subcommand
/// of this name.
pub fn commands_for(
    word: &str,
    outer: &[String],
    groups: &[&str],
    has: impl Fn(&[String], &str) -> bool,
) -> Vec<String> {
    let word = word.to_lowercase();
    let foreign = find(VERBS, &word);
    let verb = foreign.unwrap_or(&word);
    let inside = |outer: &[String]| {
        let path = outer.join(" ");
        has(outer, verb).then(|| format!("etui {path} {verb}"))
    };
    if !outer.is_empty()
        && let Some(own) = inside(outer)
    {
        return vec![own];
    }
    if let Some(own) = find(COMMANDS, &word) {
        return vec![format!("etui {own}")];
    }
    const RECORDS: &[&str] = &["contacts", "calendar"];
    let others = groups.iter().filter(|group| match outer {
        // A word of another program is one for contacts or the calendar.
        [] => foreign.is_none() || RECORDS.contains(group),
        [outer, ..] => {
            RECORDS.contains(&outer.as_str()) && RECORDS.contains(group) && outer != *group
        }
    });
    others
        .filter_map(|group| inside(&[(*group).to_owned()]))
        .collect()
}
