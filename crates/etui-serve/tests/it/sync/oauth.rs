//! Logging in by a browser, with an authorization server of the test's own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use etui_sync::{OAuthClient, OAuthError};

use super::http::{HttpRequest, serve_http};
use super::program::run_with;
use super::scripted::Scripted;

/// The state of the authorization server, and the forms that it got.
#[derive(Default)]
struct Authorization {
    /// Its next token for later runs.
    refresh: String,
    /// The permission was taken back.
    is_revoked: bool,
    forms: Vec<BTreeMap<String, String>>,
}

fn fields(query: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8()
            .unwrap()
            .into_owned()
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), decode(value)))
        .collect()
}

fn start(state: &Arc<Mutex<Authorization>>) -> String {
    let served = Arc::clone(state);
    let address = serve_http(move |request: &HttpRequest| {
        let mut state = served.lock().unwrap();
        let form = fields(&request.body);
        let is_good = form["grant_type"] == "authorization_code" && form["code"] == "good"
            || form["grant_type"] == "refresh_token" && form["refresh_token"] == state.refresh;
        state.forms.push(form);
        match is_good && !state.is_revoked {
            true => {
                state.refresh.push('+');
                let body = format!(
                    "{{\"access_token\":\"a1\",\"refresh_token\":\"{}\"}}",
                    state.refresh
                );
                (200, "Content-Type: application/json\r\n".to_owned(), body)
            }
            false => {
                let body = "{\"error\":\"invalid_grant\",\"error_description\":\"Token has been revoked\\u001b[2J.\"}";
                (400, String::new(), body.to_owned())
            }
        }
    });
    format!("http://{address}/token")
}

fn client(tokens: String) -> OAuthClient {
    OAuthClient {
        authorization_url: "http://login.example/auth?x=1".to_owned(),
        token_url: tokens,
        scope: "contacts calendars".to_owned(),
        id: "the id".to_owned(),
        secret: Some("s&t".to_owned()),
    }
}

/// Does what a browser does after the login: it goes to the address that it was given, with these parameters.
fn browse(url: &str, answer: &str) -> String {
    let asked = fields(url.split_once('?').unwrap().1);
    let redirect = asked["redirect_uri"].strip_prefix("http://").unwrap();
    let host = redirect.trim_end_matches('/');
    let answer = answer.replace("STATE", &asked["state"]);
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /?{answer} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

const WAIT: Duration = Duration::from_mins(5);

#[test]
fn a_person_logs_in_and_answers_of_others_are_not_taken() {
    let state = Arc::new(Mutex::new(Authorization::default()));
    let client = client(start(&state));
    let mut shown = String::new();
    let tokens = client.log_in(WAIT, &mut |url, answers| {
        shown = url.to_owned();
        for other in [
            "code=evil&state=guessed",
            "code=evil",
            "",
            "error=access_denied&state=",
        ] {
            assert!(browse(url, other).starts_with("HTTP/1.1 404"), "{other}");
        }
        answers
            .send("http://127.0.0.1:1/?code=evil&state=pasted".to_owned())
            .unwrap();
        assert!(browse(url, "code=good&state=STATE").contains("You are logged in"));
    });
    let tokens = tokens.unwrap();
    assert_eq!(
        (tokens.access.as_str(), tokens.refresh.as_deref()),
        ("a1", Some("+"))
    );
    let asked = fields(
        shown
            .strip_prefix("http://login.example/auth?x=1&")
            .unwrap(),
    );
    assert_eq!(asked["scope"], "contacts calendars");
    let form = state.lock().unwrap().forms[0].clone();
    assert_eq!(
        (form["client_id"].as_str(), form["client_secret"].as_str()),
        ("the id", "s&t")
    );
    assert_eq!(form["redirect_uri"], asked["redirect_uri"]);
    // The proof fits (RFC 7636 section 4.6).
    let hash = ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
    use base64::Engine;
    assert_eq!(
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(hash),
        asked["code_challenge"]
    );
}

#[test]
fn a_pasted_address_is_an_answer_too() {
    let state = Arc::new(Mutex::new(Authorization::default()));
    let tokens = client(start(&state)).log_in(WAIT, &mut |url, answers| {
        let asked = fields(url.split_once('?').unwrap().1);
        let pasted = format!(
            "{}?state={}&code=good&scope=a%20b#x",
            asked["redirect_uri"], asked["state"]
        );
        answers.send("what?".to_owned()).unwrap();
        answers.send(pasted).unwrap();
    });
    assert_eq!(tokens.unwrap().access, "a1");
}

#[test]
fn refusals_expiry_and_silence_are_told_apart() {
    let state = Arc::new(Mutex::new(Authorization::default()));
    let client = client(start(&state));
    let refused = client.log_in(WAIT, &mut |url, _| {
        browse(
            url,
            "error=access_denied&error_description=No%1b+thanks&state=STATE",
        );
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the login was refused: No thanks"
    );
    let silent = client.log_in(Duration::ZERO, &mut |_, _| {});
    assert!(matches!(silent, Err(OAuthError::NoAnswer(_))));
    let bad = client.log_in(WAIT, &mut |url, _| {
        drop(browse(url, "code=bad&state=STATE"))
    });
    assert!(matches!(bad, Err(OAuthError::Expired(_))));
    let expired = client.refresh("old").unwrap_err();
    assert_eq!(
        expired.to_string(),
        "the permission to log in has expired or was taken back (Token has been revoked[2J.)"
    );
    let elsewhere = OAuthClient {
        token_url: "http://tokens.example/".to_owned(),
        ..client
    };
    assert!(matches!(
        elsewhere.refresh("x"),
        Err(OAuthError::NotSecure(_))
    ));
}

/// Runs `etui sync` with words; a browser answers what it asks for.
fn run(home: &std::path::Path, words: &[&str]) -> (String, Option<i32>) {
    run_with(home, words, &mut |line| {
        if let Some(at) = line.find("http://login.example") {
            browse(&line[at..], "code=good&state=STATE");
        }
    })
}

#[test]
fn an_account_logs_in_by_the_browser_and_again_when_the_permission_has_expired() {
    let state = Arc::new(Mutex::new(Authorization::default()));
    let tokens = start(&state);
    let server = Scripted::start();
    server.put(
        "a.vcf",
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a\r\nFN:Ada\r\nEND:VCARD\r\n",
    );
    let home = tempfile::tempdir().unwrap();
    let url = server.url();
    let words = [
        "add",
        &url,
        "--name",
        "g",
        "--oauth-client",
        "i",
        "--oauth-page",
        "http://login.example/auth",
        "--oauth-tokens",
        &tokens,
        "--oauth-scope",
        "all",
    ];
    let (said, code) = run(home.path(), &words);
    assert!(code == Some(0) && said.contains("1 added here"), "{said}");
    // The next run has the token that replaced the first.
    let (said, code) = run(home.path(), &[]);
    assert!(code == Some(0) && said.contains("in step"), "{said}");
    assert_eq!(state.lock().unwrap().refresh, "+++");
    state.lock().unwrap().is_revoked = true;
    let (said, code) = run(home.path(), &[]);
    assert!(
        code == Some(1) && said.contains("log in again: etui sync login g"),
        "{said}"
    );
    state.lock().unwrap().is_revoked = false;
    let (said, code) = run(home.path(), &["login", "g"]);
    assert!(code == Some(0), "{said}");
    let (said, code) = run(home.path(), &[]);
    assert!(code == Some(0), "{said}");
    // What gets tokens can be read by its owner alone, and goes with the account.
    let secrets = || {
        let files = std::fs::read_dir(home.path())
            .unwrap()
            .map(|file| file.unwrap());
        files
            .filter(|file| file.file_name().to_string_lossy().ends_with(".secret"))
            .collect::<Vec<_>>()
    };
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&secrets()[0].metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let (said, code) = run(home.path(), &["remove", "g"]);
    assert!(code == Some(0) && secrets().is_empty(), "{said}");
}
