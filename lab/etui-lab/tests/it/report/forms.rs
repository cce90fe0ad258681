//! Helpers that read the report's forms back: markup for its balance, comma-separated values.

/// Checks that a page is well formed, as XML has it, and returns its content: the names
/// of its elements, and its text with the entities left in.
pub fn well_formed(page: &str) -> (Vec<String>, String) {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    let mut open: Vec<String> = Vec::new();
    let (mut names, mut text) = (Vec::new(), String::new());
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let end = at + rest[at..].find('>').expect("a tag that ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        assert!(!tag.contains('<'), "a tag within a tag: {tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in order");
            continue;
        }
        let (tag, empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric()),
            "name {name}"
        );
        quoted(attributes);
        names.push(name.to_owned());
        if !empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    for (at, _) in text.match_indices('&') {
        let entity = text[at + 1..].split(';').next().unwrap_or_default();
        assert!(
            ["amp", "lt", "gt", "quot", "#39"].contains(&entity),
            "entity {entity}"
        );
    }
    (names, text)
}

/// Checks attributes: each once, with its value between double quotes.
fn quoted(mut attributes: &str) {
    let mut seen = Vec::new();
    while !attributes.trim().is_empty() {
        let (name, rest) = attributes.trim_start().split_once("=\"").expect("a value");
        let (_, rest) = rest.split_once('"').expect("a quote that ends");
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "attribute {name}"
        );
        assert!(!seen.contains(&name), "twice: {name}");
        assert!(!name.starts_with("on"), "a handler: {name}");
        seen.push(name);
        attributes = rest;
    }
}

/// Reads comma-separated values as RFC 4180 has them.
pub fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut within = false;
    while let Some(c) = chars.next() {
        match (within, c) {
            (true, '"') if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            (_, '"') => within = !within,
            (false, ',') => record.push(std::mem::take(&mut field)),
            (false, '\r') => {
                assert_eq!(chars.next(), Some('\n'));
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            (_, c) => field.push(c),
        }
    }
    assert!(
        !within && record.is_empty() && field.is_empty(),
        "ends with a line's end"
    );
    records
}
