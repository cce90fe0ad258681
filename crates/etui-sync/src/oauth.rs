//! [`OAuthClient`]: logging in by a browser (RFC 6749, with the loopback address of RFC 8252 section 7.3 and the proof of
//! RFC 7636), as Google wants it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use etui_dav::client::{Address, AddressError, post_form};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;

use crate::http::{HttpClient, HttpOptions, Login, SendError};

/// Bytes of a request of the browser, and of an answer of the authorization server.
const MAX_TEXT: u64 = 64 << 10;

/// How long a connection of the browser may take.
const BROWSER: Duration = Duration::from_secs(10);

/// An authorization server, and the client that a person registered there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthClient {
    /// Where the person logs in; empty once that is done.
    pub authorization_url: String,
    /// Where tokens are given.
    pub token_url: String,
    /// The scopes of the tokens, separated by blanks.
    pub scope: String,
    /// The client's id.
    pub id: String,
    /// The client's secret, if it has one. Of a program on a person's machine it protects nothing (RFC 8252 section 8.5).
    pub secret: Option<String>,
}

/// Tokens of an authorization server.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OAuthTokens {
    /// The token of requests, which holds for an hour or so.
    pub access: String,
    /// The token that gets further ones; a server may give a new one each time.
    pub refresh: Option<String>,
}

/// Without the tokens.
impl std::fmt::Debug for OAuthTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OAuthTokens")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// The authorization server cannot be reached.
    #[error(transparent)]
    Send(#[from] SendError),
    /// An address that is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The token would go over a network without TLS.
    #[error("{0}: tokens are sent over https only")]
    NotSecure(String),
    /// The person, or the server, says no.
    #[error("the login was refused: {0}")]
    Denied(String),
    /// The token that gets others holds no longer.
    #[error("the permission to log in has expired or was taken back ({0})")]
    Expired(String),
    /// Nobody logged in.
    #[error("nobody logged in within {} minutes", .0.as_secs() / 60)]
    NoAnswer(Duration),
    /// An answer that has no token.
    #[error("the authorization server refuses: {0}")]
    Server(String),
    /// The machine has no port, event loop or random numbers to give.
    #[error("the login cannot be prepared: {0}")]
    Machine(#[from] io::Error),
}

impl OAuthClient {
    /// Has a person log in. `show` is given the address to open in a browser, and where an address that the browser
    /// ended at can be sent to, if it runs on another machine. Answers of other logins are not taken.
    ///
    /// # Errors
    /// [`OAuthError`]; [`OAuthError::NoAnswer`] after `wait`.
    pub fn log_in(
        &self,
        wait: Duration,
        show: &mut dyn FnMut(&str, Sender<String>),
    ) -> Result<OAuthTokens, OAuthError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let redirect = format!("http://127.0.0.1:{port}/");
        let (state, proof) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, proof.as_bytes()));
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", &redirect),
            ("scope", &self.scope),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            // Google gives the token that gets others only if it is asked so.
            ("access_type", "offline"),
            ("prompt", "consent"),
        ]);
        let mark = if self.authorization_url.contains('?') {
            '&'
        } else {
            '?'
        };
        let (answers, answered) = channel();
        let expected = state.clone();
        let from_browser = answers.clone();
        // It ends with the process, or with the first connection after the login.
        std::thread::spawn(move || listen(&listener, &expected, &from_browser));
        show(&format!("{}{mark}{query}", self.authorization_url), answers);
        let until = Instant::now() + wait;
        let code = loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = match answered.recv_timeout(left) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(OAuthError::NoAnswer(wait));
                }
            };
            if parameter(&answer, "state").as_deref() != Some(&state) {
                continue;
            }
            if let Some(error) = parameter(&answer, "error") {
                let why = parameter(&answer, "error_description");
                return Err(OAuthError::Denied(printable(&why.unwrap_or(error))));
            }
            if let Some(code) = parameter(&answer, "code") {
                break code;
            }
        };
        self.ask(&[
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &redirect),
            ("code_verifier", &proof),
        ])
    }

    /// Gets an access token.
    ///
    /// # Errors
    /// [`OAuthError::Expired`]: the person has to log in again.
    pub fn refresh(&self, token: &str) -> Result<OAuthTokens, OAuthError> {
        self.ask(&[("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    fn ask(&self, grant: &[(&str, &str)]) -> Result<OAuthTokens, OAuthError> {
        let address = Address::parse(&self.token_url)?;
        let is_local = matches!(address.host(), "127.0.0.1" | "localhost" | "[::1]");
        if !address.is_https() && !is_local {
            return Err(OAuthError::NotSecure(self.token_url.clone()));
        }
        let mut fields = grant.to_vec();
        fields.push(("client_id", &self.id));
        if let Some(secret) = &self.secret {
            fields.push(("client_secret", secret));
        }
        let client = HttpClient::new(&address, Login::None, &HttpOptions::default())?;
        // Not to another place than the one that was named.
        let answer = client.send_patiently(&post_form(&address, form(&fields)))?;
        let status = answer.status;
        let mut text = Vec::new();
        answer.body.take(MAX_TEXT).read_to_end(&mut text)?;
        let answer: Value = serde_json::from_slice(&text).unwrap_or_default();
        let field = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
        if let (200, Some(access)) = (status, field("access_token")) {
            return Ok(OAuthTokens {
                access,
                refresh: field("refresh_token"),
            });
        }
        let error = field("error").unwrap_or_else(|| format!("status {status}"));
        let why = printable(&field("error_description").unwrap_or_else(|| error.clone()));
        Err(match error.as_str() {
            // RFC 6749 section 5.2.
            "invalid_grant" => OAuthError::Expired(why),
            "access_denied" => OAuthError::Denied(why),
            _ => OAuthError::Server(why),
        })
    }
}

/// Takes the connections of the browser until the answer of this login has come.
fn listen(listener: &TcpListener, state: &str, answers: &Sender<String>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        // One that cannot be read is not the browser with the answer.
        let Ok(path) = read_path(&stream) else {
            continue;
        };
        let is_ours = parameter(&path, "state").as_deref() == Some(state);
        let (status, text) = match (is_ours, parameter(&path, "error")) {
            (true, None) => ("200 OK", "You are logged in. You can close this page."),
            (true, Some(_)) => ("200 OK", "The login was refused. You can close this page."),
            (false, _) => (
                "404 Not Found",
                "This is not the answer of the login that etui waits for.",
            ),
        };
        // A browser that is gone has nobody to tell.
        let _ = write!(
            &stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{text}",
            text.len()
        );
        if is_ours {
            // The login may have ended meanwhile.
            let _ = answers.send(path);
            return;
        }
    }
}

fn read_path(stream: &TcpStream) -> io::Result<String> {
    stream.set_read_timeout(Some(BROWSER))?;
    stream.set_write_timeout(Some(BROWSER))?;
    let mut reader = BufReader::new(stream.take(MAX_TEXT));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    // The rest is read, so that the browser gets the answer.
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    Ok(first.split(' ').nth(1).unwrap_or_default().to_owned())
}

/// Returns a parameter of the query of an address.
fn parameter(address: &str, name: &str) -> Option<String> {
    let (_, query) = address.trim().split_once('?')?;
    let query = query.split('#').next()?;
    let found = query.split('&').find_map(|part| {
        let (key, value) = part.split_once('=')?;
        (key == name).then_some(value)
    })?;
    let value = found.replace('+', " ");
    let value = percent_decode_str(&value).decode_utf8().ok()?;
    Some(value.into_owned())
}

fn form(fields: &[(&str, &str)]) -> String {
    let fields = fields.iter().map(|(name, value)| {
        let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
        format!("{name}={value}")
    });
    fields.collect::<Vec<_>>().join("&")
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns a server's words without what a terminal would take as a command.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}
