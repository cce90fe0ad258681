//! `etui sync from-vdirsyncer`: reads vdirsyncer's configuration, and prints the commands that replace it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etui_dav::client::Address;
use etui_program::output::{one_line, quote_operand, quote_option, quote_word};
use etui_program::{App, Failure, Result};
use serde_json::Value;

/// Prints the commands that replace a configuration.
pub fn show_commands(app: &mut App, file: Option<&Path>) -> Result<()> {
    let path = match file {
        Some(path) => path.to_owned(),
        None => default_file()?,
    };
    let text = std::fs::read_to_string(&path).map_err(|e| Failure::io(&path, e))?;
    let shown = path.display().to_string();
    let commands = convert(&text)
        .map_err(|(line, reason)| Failure::Refused(format!("{shown}, line {line}: {reason}")))?;
    let shown = one_line(&shown).into_owned();
    app.out.write_line(format!(
        "# From {shown}. Nothing was changed: run `vdirsyncer sync` once\n# more, then the commands below.\n\n{commands}"
    ))
}

/// Returns the file that vdirsyncer reads.
fn default_file() -> Result<PathBuf> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = of("HOME");
    let below = |name: &str| home.as_ref().map(|home| home.join(name));
    let old = below(".vdirsyncer/config").filter(|file| file.exists());
    let config = of("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| below(".config"));
    of("VDIRSYNCER_CONFIG")
        .or(old)
        .or_else(|| Some(config?.join("vdirsyncer/config")))
        .ok_or_else(|| Failure::usage("there is no home directory; name the file"))
}

/// A line of the file, and the error there.
type AtLine = (usize, String);

/// A `[kind name]` with its options.
#[derive(Debug, Default)]
struct Section {
    kind: String,
    name: String,
    line: usize,
    options: BTreeMap<String, Value>,
}

impl Section {
    fn text(&self, option: &str) -> Option<&str> {
        self.options.get(option)?.as_str()
    }

    fn needed(&self, option: &str) -> std::result::Result<&str, AtLine> {
        self.text(option).ok_or_else(|| {
            let (kind, name) = (&self.kind, &self.name);
            let reason = format!("the {kind} \"{name}\" has no text `{option}`");
            (self.line, reason)
        })
    }

    fn is_set(&self, option: &str) -> bool {
        self.options.get(option) == Some(&Value::Bool(true))
    }
}

/// Parses the file: sections of options whose values are JSON, which go on in lines that are indented more.
fn parse(text: &str) -> std::result::Result<Vec<Section>, AtLine> {
    let mut sections: Vec<Section> = Vec::new();
    // Line, indentation, name and value of the option that may go on.
    let mut open: Option<(usize, usize, String, String)> = None;
    for (line, content) in (1..).zip(text.lines().chain(["[end]"])) {
        let words = content.trim();
        let indent = content.len() - content.trim_start().len();
        if words.is_empty() || words.starts_with(['#', ';']) {
            // For the line numbers within a value.
            if let Some((.., value)) = &mut open {
                value.push('\n');
            }
            continue;
        }
        if let Some((_, of, _, value)) = &mut open
            && indent > *of
        {
            value.push('\n');
            value.push_str(words);
            continue;
        }
        if let (Some((from, _, name, value)), Some(section)) = (open.take(), sections.last_mut()) {
            let value = serde_json::from_str(&value).map_err(|error| {
                let reason = "is no JSON; a text has quotation marks (\"...\")";
                (
                    from + error.line().max(1) - 1,
                    format!("the value of `{name}` {reason}"),
                )
            })?;
            if section.options.insert(name.clone(), value).is_some() {
                return Err((from, format!("`{name}` is there twice")));
            }
        }
        if let Some(title) = words.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
            let (kind, name) = title.split_once(' ').unwrap_or((title, title));
            if sections.iter().any(|s| s.kind == kind && s.name == name) {
                return Err((line, format!("[{title}] is there twice")));
            }
            sections.push(Section {
                kind: kind.to_owned(),
                name: name.trim().to_owned(),
                line,
                options: BTreeMap::new(),
            });
            continue;
        }
        let Some((name, value)) = words.split_once(['=', ':']) else {
            return Err((line, "neither a [section] nor `option = value`".to_owned()));
        };
        if sections.is_empty() {
            return Err((line, "an option before the first [section]".to_owned()));
        }
        let name = name.trim().to_lowercase();
        open = Some((line, indent, name, value.trim().to_owned()));
    }
    sections.pop();
    let known = ["general", "pair", "storage"];
    match sections.iter().find(|s| !known.contains(&s.kind.as_str())) {
        Some(other) => Err((other.line, format!("an unknown section [{}]", other.kind))),
        None => Ok(sections),
    }
}

/// The collections that an account is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Chosen {
    /// The one at the address.
    Exact,
    All,
    Only(Vec<String>),
}

/// An account to be added, which may replace several pairs.
#[derive(Debug)]
struct AccountCommand {
    /// Server and login: one account has the contacts and the calendars of both.
    login: (String, Vec<String>),
    url: String,
    name: String,
    chosen: Chosen,
    is_read_only: bool,
    has_contacts: bool,
    has_calendars: bool,
    /// What takes the place of the pairs' options.
    notes: Vec<String>,
}

/// Returns the commands that replace a configuration, with comments; or the line that is wrong.
fn convert(text: &str) -> std::result::Result<String, AtLine> {
    let sections = parse(text)?;
    let storages = sections.iter().filter(|section| section.kind == "storage");
    let storages: BTreeMap<&str, &Section> = storages.map(|one| (one.name.as_str(), one)).collect();
    let mut accounts: Vec<AccountCommand> = Vec::new();
    let mut others = Vec::new();
    for pair in sections.iter().filter(|section| section.kind == "pair") {
        let side = |option: &str| {
            let name = pair.needed(option)?;
            let missing = || (pair.line, format!("there is no [storage {name}]"));
            let storage = storages.get(name).copied().ok_or_else(missing)?;
            Ok((storage, storage.needed("type")?))
        };
        let sides = [side("a")?, side("b")?];
        let mut notes = pair_notes(pair);
        let mut servers = 0;
        for (index, (storage, kind)) in sides.iter().enumerate() {
            let (other, other_kind) = &sides[1 - index];
            match *kind {
                "caldav" | "carddav" => {
                    servers += 1;
                    let mut account = account(pair, index, storage, kind, other)?;
                    notes.append(&mut account.notes);
                    account.notes = std::mem::take(&mut notes);
                    add(&mut accounts, account);
                }
                "google_contacts" | "google_calendar" => {
                    servers += 1;
                    others.push(google(pair, kind));
                }
                "http" => {
                    servers += 1;
                    others.push(subscription(pair, storage)?);
                }
                "filesystem" | "singlefile" if is_local(other_kind) => {
                    if index == 0 {
                        others.push(import(pair, storage, other)?);
                    }
                }
                "filesystem" | "singlefile" => {}
                unknown => {
                    let reason = format!("a storage of an unknown type: {unknown}");
                    return Err((storage.line, reason));
                }
            }
        }
        if servers == 2
            && let Some(last) = accounts.last_mut()
        {
            last.notes.push(format!(
                "pair {}: both sides are servers; each gets collections of its own here, and what is in one is \
                 not sent to the other",
                pair.name
            ));
        }
    }
    let mut commands: Vec<String> = accounts.iter().map(AccountCommand::to_text).collect();
    commands.append(&mut others);
    let used: Vec<&str> = sections
        .iter()
        .filter(|section| section.kind == "pair")
        .flat_map(|pair| [pair.text("a"), pair.text("b")])
        .flatten()
        .collect();
    for unused in storages.keys().filter(|name| !used.contains(name)) {
        commands.push(comment(&format!("storage {unused}: it is in no pair")));
    }
    if commands.is_empty() {
        return Err((1, "there is no [pair ...]".to_owned()));
    }
    Ok(commands.join("\n\n"))
}

fn is_local(kind: &str) -> bool {
    matches!(kind, "filesystem" | "singlefile")
}

/// Returns lines of comment.
fn comment(text: &str) -> String {
    // What the file says begins no line of its own.
    format!("# {}", one_line(text))
}

/// Says what takes the place of a pair's options.
fn pair_notes(pair: &Section) -> Vec<String> {
    let known = [
        (
            "conflict_resolution",
            "changes of both sides are merged, and a text that loses is kept (etui conflicts)",
        ),
        (
            "partial_sync",
            "with --read-only, what is changed here stays here and is not sent",
        ),
        (
            "metadata",
            "names are taken when the account is added; colours are not kept in step",
        ),
    ];
    let there = known
        .iter()
        .filter(|(option, _)| pair.options.contains_key(*option));
    there
        .map(|(option, note)| format!("pair {}, {option}: {note}", pair.name))
        .collect()
}

/// Returns the collections of a pair on its first (0) or second (1) side.
fn chosen(pair: &Section, side: usize) -> std::result::Result<Chosen, AtLine> {
    let wrong = || {
        let reason = "`collections` is neither null nor a list of names";
        (pair.line, reason.to_owned())
    };
    let list = match pair.options.get("collections") {
        Some(Value::Array(list)) => list,
        Some(Value::Null) => return Ok(Chosen::Exact),
        None => return Err((pair.line, "the pair has no `collections`".to_owned())),
        Some(_) => return Err(wrong()),
    };
    let mut only = Vec::new();
    for one in list {
        match one {
            Value::String(name) if name == "from a" || name == "from b" => return Ok(Chosen::All),
            Value::String(name) => only.push(name.clone()),
            Value::Array(names) => match names.get(side + 1) {
                Some(Value::String(name)) => only.push(name.clone()),
                Some(Value::Null) => return Ok(Chosen::Exact),
                _ => return Err(wrong()),
            },
            _ => return Err(wrong()),
        }
    }
    Ok(Chosen::Only(only))
}

/// Returns the account of a pair's server.
fn account(
    pair: &Section,
    side: usize,
    storage: &Section,
    kind: &str,
    other: &Section,
) -> std::result::Result<AccountCommand, AtLine> {
    let url = storage.needed("url")?;
    let address = Address::parse(url).map_err(|e| (storage.line, format!("`url`: {e}")))?;
    let mut notes = Vec::new();
    let mut words = Vec::new();
    let of = format!("storage {}", storage.name);
    if let Some(user) = storage.text("username") {
        words.push(quote_option("--user", user));
    } else if let Some(value) = storage.options.get("username.fetch") {
        match fetched(value) {
            Fetched::Command(command) => words.push(format!("--user \"$({command})\"")),
            Fetched::Asked => {}
            Fetched::Unknown => notes.push(format!("{of}, username.fetch: the user is asked for")),
        }
    }
    if storage.options.contains_key("password") {
        notes.push(format!(
            "{of}, password: it is asked for, and kept in the Secret Service or in a file of yours"
        ));
    } else if let Some(value) = storage.options.get("password.fetch") {
        match fetched(value) {
            Fetched::Command(command) => words.push(quote_option("--password-command", &command)),
            Fetched::Asked => {}
            Fetched::Unknown => {
                notes.push(format!("{of}, password.fetch: the password is asked for"));
            }
        }
    }
    if let Some(text) = storage.text("verify_fingerprint") {
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        let pairs: Vec<&str> = (0..digits.len() / 2)
            .map(|n| &digits[2 * n..2 * n + 2])
            .collect();
        match pairs.len() {
            32 => words.push(quote_option(
                "--certificate",
                &pairs.join(":").to_uppercase(),
            )),
            _ => notes.push(format!(
                "{of}, verify_fingerprint: it is no SHA-256; the certificate is shown, and taken if you say so"
            )),
        }
    }
    let without = [
        (
            "verify",
            "a certificate that no authority vouches for is shown, and taken if you say so",
        ),
        (
            "auth_cert",
            "etui has no certificates of clients; this account will not work",
        ),
        ("useragent", "left out"),
        ("start_date", "entries of all times are taken"),
        ("end_date", "entries of all times are taken"),
        ("item_types", "events, tasks and journals are taken"),
    ];
    for (option, note) in without {
        if storage.options.contains_key(option) {
            notes.push(format!("{of}, {option}: {note}"));
        }
    }
    if storage.text("auth").is_some_and(|auth| auth == "digest") {
        notes.push(format!(
            "{of}, auth: etui sends user and password (basic), only over https"
        ));
    }
    if other.is_set("read_only") {
        notes.push(format!(
            "storage {}, read_only: the store here takes what the server has",
            other.name
        ));
    }
    for hook in ["post_hook", "pre_deletion_hook"] {
        if other.options.contains_key(hook) {
            notes.push(format!(
                "storage {}, {hook}: etui sync runs no commands",
                other.name
            ));
        }
    }
    if let Some(command) = import_of(pair, other) {
        notes.push(format!(
            "storage {}: the store takes its place; if some of it was never sent: {command}",
            other.name
        ));
    }
    let origin = format!(
        "{}:{} {}",
        address.host(),
        address.port(),
        address.is_https()
    );
    Ok(AccountCommand {
        login: (origin, words),
        url: url.to_owned(),
        name: pair.name.clone(),
        chosen: chosen(pair, side)?,
        is_read_only: storage.is_set("read_only"),
        has_contacts: kind == "carddav",
        has_calendars: kind == "caldav",
        notes,
    })
}

/// Adds an account, or takes it into one of the same login, which has its collections, too.
fn add(accounts: &mut Vec<AccountCommand>, mut new: AccountCommand) {
    let is_whole = |one: &AccountCommand| one.chosen != Chosen::Exact;
    let same = accounts.iter_mut().find(|one| {
        one.login == new.login
            && one.is_read_only == new.is_read_only
            && is_whole(one)
            && is_whole(&new)
    });
    let Some(same) = same else {
        accounts.push(new);
        return;
    };
    same.notes.append(&mut new.notes);
    same.notes.push(format!(
        "pair {}: the same account has its collections, too",
        new.name
    ));
    let some = match (&same.chosen, &new.chosen) {
        (Chosen::Only(_), Chosen::Only(_)) => None,
        (Chosen::Only(some), _) | (_, Chosen::Only(some)) => Some(some.join(", ")),
        _ => None,
    };
    if let Some(some) = some {
        same.notes.push(format!(
            "of one kind only {some} is wanted, and all of the other: all are paired; --only NAME chooses"
        ));
    }
    same.has_contacts |= new.has_contacts;
    same.has_calendars |= new.has_calendars;
    same.chosen = match (&same.chosen, new.chosen) {
        (Chosen::Only(some), Chosen::Only(more)) => {
            let mut both = some.clone();
            both.extend(more.into_iter().filter(|name| !some.contains(name)));
            Chosen::Only(both)
        }
        _ => Chosen::All,
    };
}

impl AccountCommand {
    fn to_text(&self) -> String {
        let mut lines: Vec<String> = self.notes.iter().map(|note| comment(note)).collect();
        let other = match (self.has_contacts, self.has_calendars) {
            (true, false) => "calendars",
            (false, true) => "address books",
            _ => "",
        };
        if self.chosen == Chosen::All && !other.is_empty() {
            lines.push(comment(&format!(
                "all collections of the account are paired, its {other}, too; --only NAME chooses"
            )));
        }
        let mut words = vec!["etui sync add".to_owned(), quote_operand(&self.url)];
        words.extend(self.login.1.iter().cloned());
        words.push(quote_option("--name", &self.name));
        if self.is_read_only {
            words.push("--read-only".to_owned());
        }
        if let Chosen::Only(names) = &self.chosen {
            words.extend(names.iter().map(|name| quote_option("--only", name)));
        }
        lines.push(words.join(" "));
        lines.join("\n")
    }
}

/// How a value is fetched.
enum Fetched {
    /// By a command, for the shell.
    Command(String),
    /// The person is asked, as etui does.
    Asked,
    Unknown,
}

fn fetched(value: &Value) -> Fetched {
    let words: Option<Vec<&str>> = value
        .as_array()
        .and_then(|list| list.iter().map(Value::as_str).collect());
    match words.as_deref() {
        Some(["command", program @ ..]) if !program.is_empty() => {
            let program: Vec<String> = program.iter().map(|word| quote_path(word)).collect();
            Fetched::Command(program.join(" "))
        }
        Some(["shell", command]) => Fetched::Command((*command).to_owned()),
        Some(["prompt", ..]) => Fetched::Asked,
        _ => Fetched::Unknown,
    }
}

/// Quotes a path or another word for the shell, which still replaces a `~` before it.
fn quote_path(path: &str) -> String {
    let quote = |(at, part): (usize, &str)| match (at, part) {
        (0, "~") => "~".to_owned(),
        (0, "") if path.is_empty() => "''".to_owned(),
        (_, "") => String::new(),
        (_, part) => quote_word(part).into_owned(),
    };
    let parts: Vec<String> = path.split('/').enumerate().map(quote).collect();
    parts.join("/")
}

/// Returns the command that imports the files of a storage: each collection into one of its own.
fn import_of(pair: &Section, storage: &Section) -> Option<String> {
    let path = storage.text("path")?;
    let each = match pair.options.get("collections") {
        Some(Value::Null) => "",
        _ => "--each ",
    };
    let files = match storage.text("type")? {
        "filesystem" => quote_path(path),
        // A file for each collection, with its name at `%s`.
        "singlefile" => {
            let parts = path.split("%s").filter(|part| !part.is_empty());
            let shown = parts.map(quote_path).collect::<Vec<_>>().join("*");
            match path.ends_with("%s") {
                true => format!("{shown}*"),
                false => shown,
            }
        }
        _ => return None,
    };
    Some(format!("etui import {each}{files}"))
}

/// Returns the command for a pair of folders.
fn import(
    pair: &Section,
    storage: &Section,
    other: &Section,
) -> std::result::Result<String, AtLine> {
    storage.needed("path")?;
    let mut lines = vec![comment(&format!(
        "pair {}: both sides are files on this machine; the store takes the place of both",
        pair.name
    ))];
    lines.extend(import_of(pair, storage));
    if let Some(command) = import_of(pair, other) {
        lines.push(comment(&format!(
            "the other side, if it has more: {command}"
        )));
    }
    Ok(lines.join("\n"))
}

/// Returns the command for a pair with Google, which needs a command of the person's own.
fn google(pair: &Section, kind: &str) -> String {
    let (url, scope) = match kind {
        "google_contacts" => (
            "https://www.googleapis.com/.well-known/carddav",
            "https://www.googleapis.com/auth/carddav",
        ),
        _ => (
            "https://apidata.googleusercontent.com/caldav/v2/ADDRESS/user",
            "https://www.googleapis.com/auth/calendar",
        ),
    };
    let mut lines = vec![comment(&format!(
        "pair {}: you log in by a browser again (scope {scope}); put the id of your client in the place of CLIENT-ID, and \
         its secret into a file",
        pair.name
    ))];
    lines.extend(pair_notes(pair).iter().map(|note| comment(note)));
    lines.push(format!(
        "# etui sync add {} --oauth-client CLIENT-ID --oauth-secret-file FILE {}",
        quote_operand(url),
        quote_option("--name", &pair.name)
    ));
    lines.join("\n")
}

/// Returns the command for a pair with a file on the web.
fn subscription(pair: &Section, storage: &Section) -> std::result::Result<String, AtLine> {
    let url = storage.needed("url")?;
    let mut lines = Vec::new();
    if storage
        .options
        .keys()
        .any(|name| name.starts_with("username"))
    {
        lines.push(comment(&format!(
            "pair {}: the address needs a user and a password",
            pair.name
        )));
    }
    lines.push(format!("etui calendars subscribe {}", quote_operand(url)));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests;
