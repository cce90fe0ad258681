//! Basic authentication (RFC 7617).

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The challenge of an answer 401.
pub const CHALLENGE: &str = "Basic realm=\"etui\", charset=\"UTF-8\"";

/// Some clients leave out the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// User and password of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

/// Returns the credentials of a request; `None` if it has none, or others than Basic.
pub fn read_credentials(headers: &HeaderMap) -> Option<Credentials> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    // Of two it is not clear which one a proxy has checked.
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(token.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(Credentials {
        user: user.to_owned(),
        password: password.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn read(values: &[&str]) -> Option<(String, String)> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        read_credentials(&headers).map(|c| (c.user, c.password))
    }

    #[test]
    fn credentials_are_read() {
        let ada = Some(("ada".to_owned(), "a:b".to_owned()));
        assert_eq!(read(&["Basic YWRhOmE6Yg=="]), ada);
        assert_eq!(read(&["basic  YWRhOmE6Yg"]), ada);
        let umlaut = Some(("jürgen".to_owned(), String::new()));
        assert_eq!(read(&["Basic asO8cmdlbjo="]), umlaut);
    }

    #[test]
    fn other_headers_are_none() {
        for bad in [
            "",
            "Basic",
            "Basic ",
            "Basic !!!!",
            "Bearer YWRhOmE6Yg==",
            "BasicYWRhOmE6Yg==",
            "Basic YWRh",     // no colon
            "Basic //9hOmI=", // not UTF-8
        ] {
            assert_eq!(read(&[bad]), None, "{bad}");
        }
        assert_eq!(read(&["Basic YWRhOmE6Yg==", "Basic YWRhOmE6Yg=="]), None);
        assert_eq!(read(&[]), None);
    }
}
