//! `etui serve`: over HTTP.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use etui_program::output::{object, one_line};
use etui_program::{App, Failure, Result, create_parent_dir};
use etui_serve::{OwnCertificate, ServeError, ServeOptions, Server, StoreSource, TlsFiles};

use super::announce::Announcement;
use super::home::{config_directory, machine_name, own_names, reachable};
use etui_program::services::serve::{DEFAULT_ADDRESS, HttpArgs};

/// Serves until SIGINT, SIGTERM or SIGHUP.
pub fn serve_http(app: &mut App, args: &HttpArgs) -> Result<()> {
    let mut store_options = app.store_options();
    let source = match &args.users {
        Some(directory) => StoreSource::Users(directory.clone()),
        None => {
            let store = app.store_path()?;
            create_parent_dir(&store)?;
            store_options.create = true;
            StoreSource::One(store)
        }
    };
    let mut options = ServeOptions::new(source);
    options.store_options = store_options;
    options.listen.clone_from(&args.listen);
    if args.listen.is_empty() && args.unix.is_none() && !args.stdio {
        options.listen.push(DEFAULT_ADDRESS);
    }
    options.unix.clone_from(&args.unix);
    options.behind_proxy = args.behind_proxy;
    options.own_certificate = own_certificate(args, &options.listen)?;
    options.tls = match (&args.cert, &args.key) {
        (Some(certificate), Some(key)) => Some(TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        }),
        _ => options
            .own_certificate
            .as_ref()
            .map(|own| own.files.clone()),
    };
    options.zone = app.out.time_zone();
    if !app.out.is_quiet() && !args.stdio {
        options.log = Arc::new(|line| {
            // A stream that cannot be written to leaves nowhere to report the error.
            let _ = writeln!(std::io::stderr(), "{line}");
        });
    }
    let scheme = if options.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let own = options.own_certificate.clone();
    let server = Server::bind(options).map_err(explain)?;
    if args.stdio {
        return server.run_stdio().map_err(explain);
    }
    let stop = server.stop_handle();
    ctrlc::set_handler(move || stop.stop()).map_err(|e| Failure::Other(e.to_string()))?;
    report(app, args, &server, scheme, own.as_ref())?;
    let _announced = match args.announce {
        true => Announcement::start(app, server.addresses()),
        false => None,
    };
    server.run().map_err(explain)
}

/// Returns the server's own certificate for `--tls`, which is made if there is none.
fn own_certificate(args: &HttpArgs, listen: &[SocketAddr]) -> Result<Option<OwnCertificate>> {
    if !args.tls || args.cert.is_some() {
        return Ok(None);
    }
    let directory = config_directory()?;
    create_parent_dir(&directory.join("serve-cert.pem"))?;
    let made = OwnCertificate::ensure(&directory, &machine_name(), &own_names(listen));
    Ok(Some(made.map_err(explain)?))
}

/// Writes the addresses of the server, and its certificate.
fn report(
    app: &mut App,
    args: &HttpArgs,
    server: &Server,
    scheme: &str,
    own: Option<&OwnCertificate>,
) -> Result<()> {
    let addresses = server.addresses().iter();
    let addresses: Vec<String> = addresses
        .map(|address| {
            let address = SocketAddr::new(reachable(address.ip()), address.port());
            format!("{scheme}://{address}/")
        })
        .collect();
    let unix = args.unix.as_ref().map(|path| path.display().to_string());
    let fingerprint = server.fingerprint();
    let authority = own.and_then(OwnCertificate::authority_fingerprint);
    let (users, others) = server.users().map_err(explain)?;
    if app.out.json {
        let users = args.users.as_ref().map(|_| &users);
        app.out.write_json(&object! {
            addresses: &addresses, unix: &unix, fingerprint: &fingerprint,
            authority_fingerprint: &authority, users: users
        })?;
    }
    for address in addresses.iter().chain(&unix) {
        app.out
            .status(format!("Serving on {}", one_line(address)))?;
    }
    if let Some(fingerprint) = fingerprint {
        app.out
            .status(format!("Certificate (SHA-256): {fingerprint}"))?;
    }
    if let Some(authority) = authority {
        app.out
            .status(format!("Its authority (SHA-256): {authority}"))?;
    }
    if let Some(own) = own {
        write_certificate_notes(app, own);
    }
    let is_empty = || {
        let store = app.open_to_read().ok()?;
        Some(store.devices().list().ok()?.is_empty())
    };
    if args.users.is_none() && is_empty() != Some(false) {
        app.out.write_note(
            "No device may connect yet. Add one, in another terminal: etui serve add-device NAME",
        );
    }
    if args.users.is_some() {
        let text = match users.as_slice() {
            [] => "There are no stores yet; one that is created here is served at once".to_owned(),
            users => format!("Users: {}", users.join(", ")),
        };
        app.out.status(text)?;
        for other in others {
            app.out.write_note(&format!(
                "{}: not served; the name of a user has only letters of ASCII, digits, \".\", \"_\" and \"-\"",
                one_line(&other)
            ));
        }
    }
    app.out.flush_output()
}

/// Writes what people should know of the server's own certificate.
fn write_certificate_notes(app: &mut App, own: &OwnCertificate) {
    let left_out = own.left_out();
    if !left_out.is_empty() {
        app.out.write_note(&format!(
            "--tls is for the home network: its certificate cannot have {}. For a public address or name get a \
             certificate by ACME (the book, server.md), and give it by --cert and --key",
            left_out.join(", ")
        ));
    }
    if own.is_self_signed() {
        app.out.write_note(
            "This certificate signed itself, as in earlier versions. It is replaced by one of an authority of its own \
             30 days before its end, or when a device is added with --iphone; devices then ask once more",
        );
    }
}

/// Returns the error of a command, which names its options.
pub fn explain(error: ServeError) -> Failure {
    match error {
        ServeError::Store(error) => error.into(),
        ServeError::Unencrypted(address) => Failure::usage(format!(
            "passwords would be sent to {address} unencrypted: add --tls, or --cert and --key, or listen on \
             127.0.0.1 only; if a reverse proxy in front encrypts, add --behind-proxy"
        )),
        ServeError::Listen { address, source } => {
            Failure::named_io(format!("cannot listen on {address}"), source)
        }
        ServeError::Certificate { path, reason } => {
            // Without Rust's "(os error 2)".
            let reason = reason.split(" (os error").next().unwrap_or_default();
            Failure::Other(format!("{}: {reason}", path.display()))
        }
        ServeError::Directory { path, source } => Failure::io(&path, source),
        other => Failure::Other(other.to_string()),
    }
}
