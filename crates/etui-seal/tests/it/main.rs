//! Sealed files over the public interface.

use etui_seal::{KeyError, SealError, SealKey, open, seal};
use proptest::prelude::*;

#[test]
fn every_byte_counts() {
    let key = SealKey::generate().unwrap();
    let text = b"BEGIN:VCARD\r\nFN:Ada\r\nEND:VCARD\r\n";
    let file = seal(&key, b"a/1", text).unwrap();
    assert_eq!(file.len(), 41 + text.len() + 16);
    assert_eq!(open(&key, b"a/1", &file).unwrap(), text);
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(open(&key, b"a/1", &changed).is_err(), "byte {at}");
        assert!(open(&key, b"a/1", &file[..at]).is_err(), "cut at {at}");
    }
    assert_eq!(open(&key, b"a/2", &file), Err(SealError::Damaged));
    let other = SealKey::generate().unwrap();
    assert_eq!(open(&other, b"a/1", &file), Err(SealError::Damaged));
    assert_eq!(open(&key, b"a/1", b"BEGIN:VCARD"), Err(SealError::Other));
}

#[test]
fn two_files_of_one_text_have_nothing_in_common() {
    let key = SealKey::generate().unwrap();
    let text = [7; 1000];
    let (one, other) = (
        seal(&key, b"", &text).unwrap(),
        seal(&key, b"", &text).unwrap(),
    );
    let same = one[41..]
        .iter()
        .zip(&other[41..])
        .filter(|(a, b)| a == b)
        .count();
    // Of random bytes one in 256 is the same.
    assert!(same < 40, "{same}");
}

#[test]
fn a_written_key_is_read_as_people_type_it() {
    let key = SealKey::generate().unwrap();
    let text = key.to_text();
    assert_eq!((text.len(), text.matches('-').count()), (34, 6));
    let typed = text
        .to_lowercase()
        .replace('-', " ")
        .replace('0', "o")
        .replace('1', "l");
    assert_eq!(typed.parse(), Ok(key));
    assert_eq!("".parse::<SealKey>(), Err(KeyError::Length(0)));
    assert_eq!("u".parse::<SealKey>(), Err(KeyError::Letter('u')));
    assert_eq!("Z".repeat(28).parse::<SealKey>(), Err(KeyError::Mistake));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, text: String) {
        let key = SealKey::generate().unwrap();
        prop_assert!(open(&key, b"", &bytes).is_err());
        prop_assert!(text.parse::<SealKey>().is_err());
    }

    #[test]
    fn a_slip_of_the_pen_is_found(at in 0_usize..34, letter in "[0-9A-HJKMNP-TV-Z]") {
        let key = SealKey::generate().unwrap();
        let text = key.to_text();
        let mut wrong = text.clone();
        if text.as_bytes()[at] != b'-' && text[at..=at] != letter {
            wrong.replace_range(at..=at, &letter);
            // One of a thousand is another key, which opens nothing.
            if let Ok(other) = wrong.parse::<SealKey>() {
                prop_assert_ne!(other, key);
            }
        }
    }
}
