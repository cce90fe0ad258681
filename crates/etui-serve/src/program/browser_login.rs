//! Logging in by a browser: `etui sync add --oauth-client`.

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use etui::sync::Account;
use etui_program::output::{object, one_line, quote_operand};
use etui_program::services::sync::OAuthArgs;
use etui_program::{App, Failure, Result};
use etui_sync::{OAuthClient, OAuthError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use super::secret::{Secret, ask, is_own};

/// How long a person may take to log in.
const WAIT: Duration = Duration::from_mins(10);

/// Google's servers and scopes (developers.google.com/identity/protocols/oauth2/native-app).
const GOOGLE: [&str; 3] = [
    "https://accounts.google.com/o/oauth2/v2/auth",
    "https://oauth2.googleapis.com/token",
    "https://www.googleapis.com/auth/calendar https://www.googleapis.com/auth/carddav",
];

/// Returns the client that the arguments describe; `None` if they do not ask for one.
pub fn client_of(args: &OAuthArgs, host: &str) -> Result<Option<OAuthClient>> {
    let Some(id) = args.oauth_client.clone() else {
        return Ok(None);
    };
    let is_google = ["google.com", "googleapis.com", "googleusercontent.com"]
        .iter()
        .any(|domain| host == *domain || host.ends_with(&format!(".{domain}")));
    let [authorization, token, scope] = match is_google {
        true => GOOGLE,
        false => [""; 3],
    };
    let choose = |given: &Option<String>, known: &str, option: &str| match (given, known) {
        (Some(given), _) => Ok(given.clone()),
        (None, "") => Err(Failure::usage(format!(
            "{host} is not one whose login page etui knows; give it with {option}"
        ))),
        (None, known) => Ok(known.to_owned()),
    };
    let secret = match &args.oauth_secret_file {
        Some(path) => Some(first_line(path)?),
        None => None,
    };
    Ok(Some(OAuthClient {
        authorization_url: choose(&args.oauth_page, authorization, "--oauth-page")?,
        token_url: choose(&args.oauth_tokens, token, "--oauth-tokens")?,
        scope: choose(&args.oauth_scope, scope, "--oauth-scope")?,
        id,
        secret,
    }))
}

fn first_line(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::io(path, e))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Has the person log in; returns the access token, and the text that is kept to get others.
pub fn log_in(app: &mut App, client: &OAuthClient) -> Result<(String, String)> {
    let is_over = Arc::new(AtomicBool::new(false));
    let tokens = client.log_in(WAIT, &mut |url, answers| {
        // A page to open is no note that --quiet hides.
        app.out.write_error_line(&format!(
            "Log in with your browser:\n  {url}\nIf it runs on another machine, paste the address here that it ends at."
        ));
        // Where there is no desktop, the person opens it.
        let _ = Command::new("xdg-open")
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if std::io::stdin().is_terminal() {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || read_lines(&answers, &is_over));
        }
    });
    is_over.store(true, Ordering::Relaxed);
    let tokens = tokens.map_err(|error| Failure::Other(error.to_string()))?;
    let refresh = tokens.refresh.ok_or_else(|| {
        Failure::Other("the server gives no token for later runs (a refresh token)".to_owned())
    })?;
    Ok((tokens.access, kept(client, &refresh)))
}

/// Passes on the lines that a person types, until the login is over: later ones answer other questions.
fn read_lines(answers: &Sender<String>, is_over: &AtomicBool) {
    let stdin = std::io::stdin();
    let tenth = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    while !is_over.load(Ordering::Relaxed) {
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        if !poll(&mut watched, Some(&tenth)).is_ok_and(|ready| ready > 0) {
            continue;
        }
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(1..) if answers.send(line).is_ok() => {}
            _ => return,
        }
    }
}

fn kept(client: &OAuthClient, refresh: &str) -> String {
    let kept = serde_json::json!({
        "page": client.authorization_url, "tokens": client.token_url, "scope": client.scope,
        "client": client.id, "secret": client.secret, "refresh": refresh
    });
    kept.to_string()
}

/// Reads the text of [`kept`].
fn read_kept(secret: &Secret, account: &str) -> Result<(OAuthClient, String)> {
    let text = secret.read(account)?;
    let found: Value = serde_json::from_str(&text).unwrap_or_default();
    let field = |name: &str| found.get(name).and_then(Value::as_str).map(str::to_owned);
    let client = OAuthClient {
        authorization_url: field("page").unwrap_or_default(),
        token_url: field("tokens").unwrap_or_default(),
        scope: field("scope").unwrap_or_default(),
        id: field("client").unwrap_or_default(),
        secret: field("secret"),
    };
    Ok((client, field("refresh").unwrap_or_default()))
}

/// Logs in once more: `etui sync login`.
pub fn log_in_again(app: &mut App, account: &Account) -> Result<()> {
    let name = &account.settings.name;
    let secret = Secret::parse(&account.settings.secret);
    match secret {
        Secret::OAuth(_) => {}
        Secret::Keyring(_) => {
            secret.replace(&ask("Password", true)?)?;
            return report_login(app, name);
        }
        Secret::File(ref path) if is_own(path) => {
            secret.replace(&ask("Password", true)?)?;
            return report_login(app, name);
        }
        _ => {
            return Err(Failure::usage(format!(
                "the password of {} comes from a command or a file of yours, or there is none; change it there",
                one_line(name)
            )));
        }
    }
    let (client, _) = read_kept(&secret, name)?;
    let (_, kept) = log_in(app, &client)?;
    secret.replace(&kept)?;
    report_login(app, name)
}

fn report_login(app: &mut App, name: &str) -> Result<()> {
    app.out.report(
        &object! { account: name },
        format!("The next etui sync logs in to {} with it", one_line(name)),
    )
}

/// Gets an access token with what [`log_in`] returned; that may be replaced.
pub fn access_token(secret: &Secret, account: &str) -> Result<String> {
    let (client, refresh) = read_kept(secret, account)?;
    let tokens = client.refresh(&refresh).map_err(|error| match error {
        OAuthError::Expired(_) => Failure::Other(format!(
            "{error}; log in again: etui sync login {}",
            quote_operand(account)
        )),
        error => Failure::Other(error.to_string()),
    })?;
    if let Some(next) = tokens.refresh.filter(|next| *next != refresh) {
        secret.replace(&kept(&client, &next))?;
    }
    Ok(tokens.access)
}
