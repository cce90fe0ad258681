//! Escapes for foreign text: the name of a contact must not move the cursor, change colours or turn
//! the direction of a line.

use std::borrow::Cow;

/// Returns true for characters that act on a terminal or on the text around them: C0, DEL, C1, line
/// and paragraph separators, bidirectional embeddings, overrides and isolates.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape_unless(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(|c| is_active(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().map(|c| match is_active(c) && !keep(c) {
        true => format!("\\u{{{:x}}}", u32::from(c)),
        false => c.to_string(),
    });
    Cow::Owned(escaped.collect())
}

/// Escapes active characters and line breaks as `\u{1b}`.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    escape_unless(text, |_| false)
}

/// Replaces line breaks and tabs by spaces and escapes other active characters.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\r', '\n', '\t']) {
        let words = text.split(['\r', '\n', '\t']).filter(|w| !w.is_empty());
        let line = words.collect::<Vec<_>>().join(" ");
        return Cow::Owned(escape_text(&line).into_owned());
    }
    escape_text(text)
}

/// Quotes a name for the shell: in single quotes if needed, and in the form `$'\u202e'` of bash and
/// zsh if it has active characters.
pub fn quote_word(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    if !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-') {
        return Cow::Borrowed(name);
    }
    if !name.contains(is_active) {
        return Cow::Owned(format!("'{}'", name.replace('\'', "'\\''")));
    }
    let typed = name.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_active(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    Cow::Owned(format!("$'{}'", typed.collect::<String>()))
}

/// Quotes a name as an operand; `--` precedes one that begins with `-`.
pub fn quote_operand(name: &str) -> String {
    match name.starts_with('-') {
        true => format!("-- {}", quote_word(name)),
        false => quote_word(name).into_owned(),
    }
}

/// Quotes a name as the value of an option.
pub fn quote_option(option: &str, name: &str) -> String {
    let between = if name.starts_with('-') { '=' } else { ' ' };
    format!("{option}{between}{}", quote_word(name))
}

/// Escapes active characters except line breaks.
pub fn escape_keep_lines(text: &str) -> Cow<'_, str> {
    escape_unless(text, |c| c == '\n')
}

/// Escapes active characters except line ends and tabs.
pub fn escape_keep_whitespace(text: &str) -> Cow<'_, str> {
    escape_unless(text, |c| matches!(c, '\r' | '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_characters_are_escaped() {
        assert_eq!(
            escape_text("a\x1b[31mb\u{9b}2J\u{202e}c\nd"),
            "a\\u{1b}[31mb\\u{9b}2J\\u{202e}c\\u{a}d"
        );
        assert_eq!(one_line("a\r\nb\tc\x07"), "a b c\\u{7}");
        assert_eq!(escape_keep_lines("a\nb\r"), "a\nb\\u{d}");
        assert_eq!(escape_keep_whitespace("a\r\n\tb\x1b"), "a\r\n\tb\\u{1b}");
    }

    #[test]
    fn names_with_blanks_are_quoted() {
        assert_eq!(quote_word("Büro-2"), "Büro-2");
        assert_eq!(quote_word("My work"), "'My work'");
        assert_eq!(quote_word("Ann's"), "'Ann'\\''s'");
        assert_eq!(quote_word(""), "''");
    }

    #[test]
    fn names_with_active_characters_are_quoted_for_the_shell() {
        for (name, typed) in [
            ("\u{202e}evil", r"$'\u202eevil'"),
            ("a\nb", r"$'a\u000ab'"),
            (r"it's a \u{202e}", r"'it'\''s a \u{202e}'"),
            ("it's \\\u{2066}", r"$'it\'s \\\u2066'"),
        ] {
            assert_eq!(quote_word(name), typed);
            let output = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {typed}")])
                .env("LC_ALL", "C.UTF-8")
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), name);
        }
    }

    #[test]
    fn names_that_look_like_options_are_quoted() {
        assert_eq!(quote_operand("Work"), "Work");
        assert_eq!(quote_operand("-x"), "-- '-x'");
        assert_eq!(quote_option("--addressbook", "Work"), "--addressbook Work");
        assert_eq!(quote_option("--addressbook", "-x"), "--addressbook='-x'");
    }

    #[test]
    fn names_of_all_scripts_are_unchanged() {
        for name in ["Müller", "山田 太郎", "Ольга", "مريم", "👩‍🔬 Ada"] {
            assert_eq!(escape_text(name), name);
        }
    }
}
