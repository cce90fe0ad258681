#![allow(clippy::unwrap_used)]

use super::*;

fn folder(name: &str, path: &str, end: &str) -> String {
    format!("[storage {name}]\ntype = \"filesystem\"\npath = \"{path}\"\nfileext = \"{end}\"\n")
}

/// Returns the lines that are commands.
fn commands(text: &str) -> Vec<String> {
    let shown = convert(text).unwrap();
    let lines = shown
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[test]
fn contacts_and_calendars_of_one_login_are_one_account() {
    let text = format!(
        "# Ada's\n[general]\nstatus_path = \"~/.vdirsyncer/status/\"\n\n\
         [pair people]\na = \"people_here\"\nb = \"people_there\"\n\
         collections = [\"from a\",\n               # and\n               \"from b\"]\n\
         conflict_resolution = \"b wins\"\n\n{}\n\
         [storage people_there]\ntype = \"carddav\"\nurl = \"https://cloud.example.org/remote.php/dav/\"\n\
         username = \"ada\"\npassword = \"s3cret\"\n\n\
         [pair dates]\na = \"dates_here\"\nb = \"dates_there\"\ncollections = [\"from b\"]\n\
         metadata = [\"displayname\", \"color\"]\n\n{}\n\
         [storage dates_there]\ntype: \"caldav\"\nurl: \"https://cloud.example.org/remote.php/dav/\"\n\
         username = \"ada\"\npassword = \"s3cret\"\nitem_types = [\"VEVENT\"]\n",
        folder("people_here", "~/.contacts/", ".vcf"),
        folder("dates_here", "~/My calendars", ".ics"),
    );
    let shown = convert(&text).unwrap();
    assert_eq!(
        commands(&text),
        ["etui sync add 'https://cloud.example.org/remote.php/dav/' --user ada --name people"]
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    for note in [
        "# storage people_there, password: it is asked for",
        "# pair people, conflict_resolution: ",
        "# pair dates, metadata: ",
        "# pair dates: the same account has its collections, too",
        "# storage dates_there, item_types: ",
        "etui import --each ~/.contacts/",
        "etui import --each ~/'My calendars'",
    ] {
        assert!(shown.contains(note), "{note}\n{shown}");
    }
}

#[test]
fn options_of_a_server_become_options_of_the_command() {
    let print = "ab".repeat(32);
    let text = format!(
        "[pair p]\na = \"here\"\nb = \"there\"\ncollections = [\"home\", [\"w\", \"work\", \"Ann's work\"]]\n\
         partial_sync = \"ignore\"\n{}\
         [storage there]\ntype = \"caldav\"\nread_only = true\nurl = \"https://dav.example.org/\"\n\
         username.fetch = [\"shell\", \"head -1 ~/.dav\"]\n\
         password.fetch = [\"command\", \"~/bin/pw\", \"show me\", \"it's\"]\n\
         verify_fingerprint = \"{print}\"\n",
        folder("here", "/srv/cal", ".ics"),
    );
    let print = ["AB"; 32].join(":");
    assert_eq!(
        commands(&text),
        [format!(
            "etui sync add 'https://dav.example.org/' --user \"$(head -1 ~/.dav)\" --password-command \
             {} --certificate '{print}' --name p --read-only --only home --only {}",
            r"'~/bin/pw '\''show me'\'' '\''it'\''\'\'''\''s'\'''", r"'Ann'\''s work'"
        )]
    );
    // The shell gives the arguments that are meant.
    let command = commands(&text).remove(0);
    let script = format!("etui() {{ printf '%s\\n' \"$@\"; }}; HOME=/nowhere; {command}");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &script]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = printed.lines().collect();
    assert!(
        words.contains(&"~/bin/pw 'show me' 'it'\\''s'"),
        "{words:?}"
    );
    assert!(words.contains(&"Ann's work"), "{words:?}");
}

#[test]
fn one_collection_google_and_a_file_on_the_web() {
    let text = format!(
        "[pair one]\na = \"here\"\nb = \"there\"\ncollections = null\n{}\
         [storage there]\ntype = \"carddav\"\nurl = \"https://dav.example.org/ada/book/\"\n\
         password.fetch = [\"prompt\", \"Password?\"]\nusername = \"-ada\"\nverify_fingerprint = \"94:FD\"\n\
         [pair g]\na = \"here\"\nb = \"g\"\ncollections = [\"from b\"]\n\
         [storage g]\ntype = \"google_contacts\"\ntoken_file = \"~/.token\"\nclient_id = \"x\"\n\
         client_secret = \"y\"\n\
         [pair h]\na = \"here\"\nb = \"h\"\ncollections = null\n\
         [storage h]\ntype = \"http\"\nurl = \"https://example.org/holidays.ics\"\n\
         [storage spare]\ntype = \"filesystem\"\npath = \"x\"\n",
        folder("here", "~/.contacts", ".vcf"),
    );
    assert_eq!(
        commands(&text),
        [
            "etui sync add 'https://dav.example.org/ada/book/' --user='-ada' --name one",
            "etui calendars subscribe 'https://example.org/holidays.ics'"
        ]
    );
    let shown = convert(&text).unwrap();
    for note in [
        "# etui sync add 'https://www.googleapis.com/.well-known/carddav' --oauth-client CLIENT-ID --oauth-secret-file FILE --name g",
        "# storage there, verify_fingerprint: it is no SHA-256",
        "# storage spare: it is in no pair",
    ] {
        assert!(shown.contains(note), "{note}\n{shown}");
    }
    assert!(!shown.contains("client_secret") && !shown.contains("Password?"));
}

#[test]
fn folders_are_imported() {
    let text = format!(
        "[pair files]\na = \"old\"\nb = \"new\"\ncollections = [\"from a\"]\n\
         [storage old]\ntype = \"singlefile\"\npath = \"~/cal/%s.ics\"\n{}",
        folder("new", "/srv/new", ""),
    );
    assert_eq!(commands(&text), ["etui import --each ~/cal/*.ics"]);
    let flat = text.replace("[\"from a\"]", "null");
    let shown = convert(&flat).unwrap();
    assert!(shown.contains("etui import /srv/new"), "{shown}");
}

#[test]
fn what_the_file_says_begins_no_command() {
    let text = "[pair p]\na = \"h\"\nb = \"t\"\ncollections = [\"x\\nrm -r y\", \"$(reboot)\"]\n\
                [storage h]\ntype = \"filesystem\"\npath = \"a\\nreboot\"\n\
                [storage t]\ntype = \"carddav\"\nurl = \"https://example.org/\"\n";
    let shown = convert(text).unwrap();
    for line in shown.lines() {
        assert!(
            line.starts_with("# ") || line.starts_with("etui sync add "),
            "{line}"
        );
    }
    assert!(shown.contains("--only '$(reboot)'"), "{shown}");
}

#[test]
fn errors_name_the_line() {
    let pair = "[pair p]\na = \"h\"\nb = \"t\"\ncollections = null\n";
    for (text, line, part) in [
        ("x = 1\n", 1, "before the first [section]"),
        (
            "\n[general]\nstatus_path = ~/here\n",
            3,
            "`status_path` is no JSON",
        ),
        ("[pair p]\na = [\"x\",\n\n  oops]\n", 4, "`a` is no JSON"),
        ("[general]\nnothing\n", 2, "neither"),
        ("[general]\n[general]\n", 2, "twice"),
        ("[general]\na = 1\na = 2\n", 3, "twice"),
        ("[general]\n[stroage x]\n", 2, "unknown section [stroage]"),
        (pair, 1, "no [storage h]"),
        ("[pair p]\nb = \"t\"\n", 1, "no text `a`"),
        ("[general]\n", 1, "no [pair ...]"),
    ] {
        let (at, reason) = convert(text).unwrap_err();
        assert_eq!(at, line, "{text}: {reason}");
        assert!(reason.contains(part), "{text}: {reason}");
    }
    let storages =
        "[storage h]\ntype = \"memory\"\n[storage t]\ntype = \"caldav\"\nurl = \"ftp://x\"\n";
    let (line, reason) = convert(&format!("{pair}{storages}")).unwrap_err();
    assert_eq!((line, reason.contains("memory")), (5, true), "{reason}");
    let local = storages.replace("memory", "filesystem");
    let (line, reason) = convert(&format!("{pair}{local}")).unwrap_err();
    assert_eq!((line, reason.contains("`url`")), (7, true), "{reason}");
}

#[test]
fn a_choice_that_one_account_cannot_keep_is_told() {
    let storage = |name: &str, kind: &str| {
        format!(
            "[storage {name}]\ntype = \"{kind}\"\nurl = \"https://c.example.org/dav/\"\nusername = \"ada\"\n"
        )
    };
    let text = format!(
        "[pair people]\na = \"f\"\nb = \"p\"\ncollections = [\"work\"]\n\
         [pair dates]\na = \"g\"\nb = \"d\"\ncollections = [\"from b\"]\n{}{}{}{}",
        folder("f", "~/c", ".vcf"),
        folder("g", "~/d", ".ics"),
        storage("p", "carddav"),
        storage("d", "caldav"),
    );
    let shown = convert(&text).unwrap();
    assert!(
        shown.contains("# of one kind only work is wanted"),
        "{shown}"
    );
    assert_eq!(commands(&text).len(), 1);
}
