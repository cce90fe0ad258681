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
/// `groups` are the commands at the top; `has` says whether the command of these words has a subcommand
/// of this name.
pub fn commands_for(
    word: &str,
    outer: &[String],
    groups: &[String],
    has: impl Fn(&[String], &str) -> bool,
) -> Vec<String> {
    let word = word.to_lowercase();
    let verb = find(VERBS, &word).unwrap_or(&word);
    let inside = |outer: &[String]| {
        let path = outer.join(" ");
        has(outer, verb).then(|| format!("etui {path} {verb}"))
    };
    if !outer.is_empty()
        && let Some(own) = inside(outer)
    {
        return vec![own];
    }
    let whole = find(COMMANDS, &word).map(|own| vec![format!("etui {own}")]);
    if let Some(whole) = whole {
        return whole;
    }
    // A word of another program is about contacts or entries; one of etui's own is of any command.
    let is_meant =
        |group: &&String| verb == word || ["contacts", "calendar"].contains(&group.as_str());
    let groups = groups
        .iter()
        .filter(is_meant)
        .map(|group| vec![group.clone()]);
    groups.filter_map(|group| inside(&group)).collect()
}
