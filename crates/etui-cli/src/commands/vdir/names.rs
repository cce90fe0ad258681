//! Names of files and folders for UIDs and collections, whatever these contain.
//!
//! ```text
//! 3f1c9a@example.org        3f1c9a@example.org.vcf
//! ../../etc/passwd          %2E.%2F..%2Fetc%2Fpasswd.vcf
//! 300 letters               the first 120, a hyphen and a hash
//! ```

use etui::ETag;

/// Bytes of a name without its suffix; file systems allow 255.
const MAX_NAME: usize = 200;
/// Bytes that are kept of a longer name before its hash.
const KEPT_NAME: usize = 120;

/// Returns the file name of the item with a UID.
pub fn item_name(uid: &str, suffix: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.@+=".contains(c);
    format!("{}{suffix}", safe_name(uid, is_safe))
}

/// Returns another file name for a UID, for the case that [`item_name`] is in use.
pub fn second_item_name(uid: &str, suffix: &str) -> String {
    let name = item_name(uid, "");
    let kept = name.get(..KEPT_NAME).unwrap_or(&name);
    format!("{kept}-{}{suffix}", short_hash(uid))
}

/// Returns the folder name of a collection.
pub fn folder_name(collection: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || " -_.@+=,()&'".contains(c);
    safe_name(collection, is_safe)
}

/// Percent-encodes the characters that are not safe and a dot at the beginning.
fn safe_name(text: &str, is_safe: impl Fn(char) -> bool) -> String {
    let mut name = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if is_safe(c) && !(at == 0 && c == '.') {
            name.push(c);
        } else {
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                name.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    if name.is_empty() {
        // No other name is a percent sign alone.
        name.push('%');
    }
    if name.len() > MAX_NAME {
        name.truncate(name.floor_char_boundary(KEPT_NAME));
        name.push('-');
        name.push_str(&short_hash(text));
    }
    name
}

fn short_hash(text: &str) -> String {
    let hash = ETag::of(text.as_bytes()).to_string();
    hash.chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_uid_leaves_its_folder() {
        for (uid, name) in [
            ("3f1c-9a@example.org", "3f1c-9a@example.org.vcf"),
            ("urn:uuid:224bb58d", "urn%3Auuid%3A224bb58d.vcf"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.vcf"),
            (".", "%2E.vcf"),
            (".hidden", "%2Ehidden.vcf"),
            ("a b\u{1b}[2J\n", "a%20b%1B%5B2J%0A.vcf"),
            ("ü%", "%C3%BC%25.vcf"),
            ("", "%.vcf"),
            ("x.tmp", "x.tmp.vcf"),
        ] {
            assert_eq!(item_name(uid, ".vcf"), name);
        }
        let long = "ü".repeat(300);
        let name = item_name(&long, ".vcf");
        assert_eq!(name.len(), 120 + 1 + 16 + 4);
        assert_ne!(name, item_name(&"ü".repeat(301), ".vcf"));
        assert_ne!(second_item_name("a", ".vcf"), item_name("a", ".vcf"));
    }

    #[test]
    fn collections_keep_their_names_if_possible() {
        assert_eq!(folder_name("Größe & Co. (alt)"), "Größe & Co. (alt)");
        assert_eq!(folder_name("a/b"), "a%2Fb");
        assert_eq!(folder_name(".."), "%2E.");
    }
}
