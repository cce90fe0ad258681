//! [`Handout`]: what devices get before they have a password: the home's authority, and profiles with their
//! one-time addresses.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, REFERRER_POLICY};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::accounts::StoreSource;
use crate::answer_body::AnswerBody;
use crate::own_certificate::OwnCertificate;
use crate::profile_offer::{PROFILE_PATH, remove_expired, take_profile};
use crate::short_answer::{ShortAnswer, plain, unavailable};

/// The path of the authority's certificate.
const AUTHORITY_PATH: &str = "/ca.crt";

/// The kind of an answer to a wrong, used or expired address of a profile.
pub const NO_PROFILE: &str = "no-profile";

/// The files that are handed out.
pub struct Handout {
    /// The directory of the stores, where profiles are offered.
    directory: PathBuf,
    /// The certificate whose authority is handed out.
    own: Option<OwnCertificate>,
}

impl Handout {
    /// Returns that of the stores of a server.
    pub fn new(source: &StoreSource, own: Option<OwnCertificate>) -> Self {
        let directory = match source {
            StoreSource::One(path) => offers_beside(path),
            StoreSource::Users(directory) => directory.clone(),
        };
        remove_expired(&directory, SystemTime::now());
        Self { directory, own }
    }

    /// Returns true if a path is one of a handout.
    pub fn has_path(path: &str) -> bool {
        path == AUTHORITY_PATH || path.starts_with(PROFILE_PATH)
    }

    /// Answers a request for such a path. It reads files.
    pub fn answer(&self, method: &Method, path: &str) -> ShortAnswer {
        let is_authority = path == AUTHORITY_PATH;
        // A look at the head of a profile is none at the profile.
        if !(method == Method::GET || is_authority && method == Method::HEAD) {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "");
            let get = HeaderValue::from_static("GET");
            answer.headers_mut().insert(ALLOW, get);
            return (answer, "handout");
        }
        if is_authority {
            let authority = self.own.as_ref().and_then(OwnCertificate::authority);
            return match authority {
                Some(der) => {
                    let headers = [
                        (CONTENT_TYPE, "application/x-x509-ca-cert"),
                        (CONTENT_DISPOSITION, "attachment; filename=\"etui-ca.crt\""),
                    ];
                    (file(der, headers), "authority")
                }
                None => {
                    let text = "This server's certificate has no authority of its own.\n";
                    (plain(StatusCode::NOT_FOUND, text), "authority")
                }
            };
        }
        match take_profile(&self.directory, path, SystemTime::now()) {
            Ok(Some(profile)) => {
                let headers = [
                    (CONTENT_TYPE, "application/x-apple-aspen-config"),
                    // It has a password.
                    (CACHE_CONTROL, "no-store"),
                    (REFERRER_POLICY, "no-referrer"),
                ];
                (file(profile, headers), "profile")
            }
            Ok(None) => {
                let text = "There is no profile here. An address works once, for ten minutes; for another one run \
                            etui serve remove-device NAME, then add-device NAME --iphone.\n";
                (plain(StatusCode::NOT_FOUND, text), NO_PROFILE)
            }
            Err(error) => {
                tracing::error!(%error, "a profile cannot be read");
                (unavailable(), "profile")
            }
        }
    }
}

/// Returns the directory in which profiles for the devices of a store are offered.
#[must_use]
pub fn offers_beside(store: &Path) -> PathBuf {
    let parent = store
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

fn file<const N: usize>(
    bytes: Vec<u8>,
    headers: [(HeaderName, &'static str); N],
) -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::from(bytes));
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        answer.headers_mut().insert(name, value);
    }
    answer
}
