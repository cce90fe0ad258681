//! Answers that no store is needed for.

use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};

use crate::answer_body::AnswerBody;
use crate::basic::CHALLENGE;
use crate::request_body::RefusedBody;

/// An answer without a worker, and its kind for the log.
pub type ShortAnswer = (Response<AnswerBody>, &'static str);

/// Returns an answer in plain text.
pub fn plain(status: StatusCode, text: &'static str) -> Response<AnswerBody> {
    let mut answer = Response::new(AnswerBody::from(text));
    *answer.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

/// Returns the answer to a missing or wrong password.
pub fn unauthorized() -> Response<AnswerBody> {
    let text = "A password of a device is needed: etui serve add-device NAME\n";
    let mut answer = plain(StatusCode::UNAUTHORIZED, text);
    let challenge = HeaderValue::from_static(CHALLENGE);
    answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    answer
}

/// Returns an answer on which clients come again.
pub fn unavailable() -> Response<AnswerBody> {
    let text = "Not possible now; the server's log has the reason.\n";
    let mut answer = plain(StatusCode::SERVICE_UNAVAILABLE, text);
    let seconds = HeaderValue::from_static("30");
    answer.headers_mut().insert(RETRY_AFTER, seconds);
    answer
}

/// Returns a lasting redirect.
pub fn redirect(to: &str) -> Response<AnswerBody> {
    let mut answer = plain(StatusCode::MOVED_PERMANENTLY, "");
    // A root has only characters that a header can have.
    if let Ok(to) = HeaderValue::from_str(to) {
        answer.headers_mut().insert(LOCATION, to);
    }
    answer
}

/// Returns the answer to a body that was not read.
pub fn body_refusal(refused: RefusedBody, most: u64) -> ShortAnswer {
    match refused {
        RefusedBody::TooLarge => {
            let mut answer = plain(StatusCode::PAYLOAD_TOO_LARGE, "");
            *answer.body_mut() = format!("At most {most} bytes are taken.\n").into();
            (answer, "too-large")
        }
        RefusedBody::TooSlow => (plain(StatusCode::REQUEST_TIMEOUT, ""), "too-slow"),
        RefusedBody::NoMemory => (unavailable(), "no-memory"),
        RefusedBody::Broken => (plain(StatusCode::BAD_REQUEST, ""), "broken-body"),
    }
}
