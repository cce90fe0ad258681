//! Foreign text made fit for a terminal: a contact's name must not be able to move the cursor,
//! change colours, or turn the line's direction.

use std::borrow::Cow;

/// Whether `c` does something to a terminal or to the text around it: C0, DEL, C1, line and
/// paragraph separators, bidirectional embeddings, overrides and isolates.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(|c| acts(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !acts(c) || keep(c) {
            out.push(c);
        } else {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        }
    }
    Cow::Owned(out)
}

/// Text as it may be shown: what acts on the terminal is written `\u{1b}`; line breaks too.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The same on one line: line breaks and tabs become spaces.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\r', '\n', '\t']) {
        let words: Vec<_> = text
            .split(['\r', '\n', '\t'])
            .filter(|w| !w.is_empty())
            .collect();
        return Cow::Owned(shown(&words.join(" ")).into_owned());
    }
    shown(text)
}

/// A name as it is typed in a command: in quotes if the shell would not take it for one word, and
/// as bash and zsh write what acts on the terminal, `$'\u202e'`.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    if !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-') {
        return Cow::Borrowed(name);
    }
    if !name.contains(acts) {
        return Cow::Owned(format!("'{}'", name.replace('\'', "'\\''")));
    }
    let typed = name.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if acts(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    Cow::Owned(format!("$'{}'", typed.collect::<String>()))
}

/// The same where no option is meant: behind `--` if it would be taken for one.
pub fn operand(name: &str) -> String {
    match name.starts_with('-') {
        true => format!("-- {}", quoted(name)),
        false => quoted(name).into_owned(),
    }
}

/// The same as the value of an option.
pub fn option(option: &str, name: &str) -> String {
    let between = if name.starts_with('-') { '=' } else { ' ' };
    format!("{option}{between}{}", quoted(name))
}

/// The same with its line breaks left in.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

/// A vCard's text: its line ends and tabs are kept.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\r' | '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_gets_through() {
        assert_eq!(
            shown("a\x1b[31mb\u{9b}2J\u{202e}c\nd"),
            "a\\u{1b}[31mb\\u{9b}2J\\u{202e}c\\u{a}d"
        );
        assert_eq!(one_line("a\r\nb\tc\x07"), "a b c\\u{7}");
        assert_eq!(lines("a\nb\r"), "a\nb\\u{d}");
        assert_eq!(visible("a\r\n\tb\x1b"), "a\r\n\tb\\u{1b}");
    }

    #[test]
    fn names_with_blanks_are_quoted() {
        assert_eq!(quoted("Büro-2"), "Büro-2");
        assert_eq!(quoted("My work"), "'My work'");
        assert_eq!(quoted("Ann's"), "'Ann'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn names_that_act_are_typed_as_the_shell_reads_them() {
        for (name, typed) in [
            ("\u{202e}evil", r"$'\u202eevil'"),
            ("a\nb", r"$'a\u000ab'"),
            (r"it's a \u{202e}", r"'it'\''s a \u{202e}'"),
            ("it's \\\u{2066}", r"$'it\'s \\\u2066'"),
        ] {
            assert_eq!(quoted(name), typed);
            let said = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {typed}")])
                .env("LC_ALL", "C.UTF-8")
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), name);
        }
    }

    #[test]
    fn names_that_look_like_options_are_none() {
        assert_eq!(operand("Work"), "Work");
        assert_eq!(operand("-x"), "-- '-x'");
        assert_eq!(option("--book", "Work"), "--book Work");
        assert_eq!(option("--book", "-x"), "--book='-x'");
    }

    #[test]
    fn names_of_all_scripts_stay_as_they_are() {
        for name in ["Müller", "山田 太郎", "Ольга", "مريم", "👩‍🔬 Ada"] {
            assert_eq!(shown(name), name);
        }
    }
}
