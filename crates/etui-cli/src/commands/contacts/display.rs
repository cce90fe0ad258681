//! Values of contacts as they are shown.

use std::borrow::Cow;

use etui::contacts::PartialDate;

use etui_when::month_name;

/// Returns a phone number without the scheme and parameters of a `tel:` URI (RFC 3966); an extension is kept.
pub fn shown_phone(value: &str) -> Cow<'_, str> {
    let is_uri = value
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("tel:"));
    let Some(uri) = value.get(4..).filter(|_| is_uri) else {
        return Cow::Borrowed(value);
    };
    let mut parts = uri.split(';');
    let number = parts.next().unwrap_or_default().trim();
    let extension = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("ext").then_some(value)
    });
    match extension {
        Some(extension) => Cow::Owned(format!("{number} ext. {extension}")),
        None => Cow::Borrowed(number),
    }
}

/// Formats a date; one without a year in words: `30 November`.
pub fn shown_date(date: PartialDate) -> String {
    match (date.year, date.month, date.day) {
        (None, Some(month), Some(day)) => format!("{day} {}", month_name(month.into())),
        (None, Some(month), None) => month_name(month.into()).to_owned(),
        _ => date.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phones_and_dates() {
        for (value, shown) in [
            ("tel:+44-20-7946-0123", "+44-20-7946-0123"),
            ("TEL:+44-20-7946-0123;ext=5", "+44-20-7946-0123 ext. 5"),
            ("tel:7946-0123;phone-context=+44-20", "7946-0123"),
            ("+44 20 7946 0123", "+44 20 7946 0123"),
            ("", ""),
        ] {
            assert_eq!(shown_phone(value), shown, "{value}");
        }
        for (text, shown) in [
            ("--11-30", "30 November"),
            ("--11", "November"),
            ("1974-11-30", "1974-11-30"),
            ("1974", "1974"),
        ] {
            assert_eq!(
                PartialDate::parse(text).map(shown_date).as_deref(),
                Some(shown)
            );
        }
    }
}
