//! The names of resources: which are valid, and those that are computed from record ids.

use crate::error::{Error, Result};

/// Maximum length in bytes.
const MAX_NAME: usize = 255;

/// Fails if a text cannot be the name of a resource: 1 to 255 bytes, without `/` and NUL, not `.`
/// or `..`.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_valid = (1..=MAX_NAME).contains(&name.len())
        && !matches!(name, "." | "..")
        && !name.contains(['/', '\0']);
    match is_valid {
        true => Ok(()),
        false => Err(Error::BadResourceName(name.to_owned())),
    }
}

/// Returns the name of a record that was given none.
pub(super) fn computed_name(id: i64, extension: &str) -> String {
    format!("etui-{id}{extension}")
}

/// Returns the id in a computed name.
pub(super) fn computed_id(name: &str, extension: &str) -> Option<i64> {
    let id: i64 = name
        .strip_prefix("etui-")?
        .strip_suffix(extension)?
        .parse()
        .ok()?;
    (id > 0 && computed_name(id, extension) == name).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let long = "x".repeat(255);
        for good in ["a", "a.vcf", "%2f", "a b@c", "...", "a\nb", "Ä", &*long] {
            assert!(check_name(good).is_ok(), "{good:?}");
        }
        let longer = "x".repeat(256);
        for bad in ["", ".", "..", "a/b", "/", "a\0", &*longer] {
            assert!(matches!(check_name(bad), Err(Error::BadResourceName(_))));
        }
    }

    #[test]
    fn computed_names_have_one_form() {
        assert_eq!(computed_id("etui-17.ics", ".ics"), Some(17));
        assert_eq!(computed_name(17, ".ics"), "etui-17.ics");
        for other in [
            "etui-17.vcf",
            "etui-017.ics",
            "etui-+17.ics",
            "etui-0.ics",
            "etui--1.ics",
            "etui-.ics",
            "etui-17",
            "etui-99999999999999999999.ics",
        ] {
            assert_eq!(computed_id(other, ".ics"), None, "{other}");
        }
    }
}
