//! `etui serve add-device --iphone`: from a device to its profile, which is offered or written to a file.

use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use etui::Store;
use etui_program::services::serve::{AddDeviceArgs, ServerUrl};
use etui_program::{App, Failure, Result, create_parent_dir};
use etui_serve::{OwnCertificate, ProfileOffer, is_home_name, offers_beside, user_name_of};
use etui_when::format_minute;
use tempfile::NamedTempFile;

use super::home::{config_directory, machine_name, own_names};
use super::http::explain;
use super::profile::Profile;
use super::qr_code::qr_code;

/// The profile of an iPhone, before there is a password for it.
pub struct PlannedProfile {
    host: String,
    port: u16,
    authority: Option<Vec<u8>>,
    pub authority_fingerprint: Option<String>,
    /// The file it is written to; `None`: it is offered.
    file: Option<(PathBuf, NamedTempFile)>,
}

/// The place of a profile.
pub enum ProfilePlace {
    Offered { address: String, until: SystemTime },
    File(PathBuf),
}

impl PlannedProfile {
    /// Checks the address of a profile, makes the authority if the address is one of the home, and creates its file.
    pub fn prepare(app: &mut App, args: &AddDeviceArgs, url: &ServerUrl) -> Result<Self> {
        if !url.is_encrypted {
            let text = "--iphone: an iPhone sends its password over TLS only; write --url https://HOST:5233";
            return Err(Failure::usage(text));
        }
        let (host, port) = url.host_and_port().ok_or_else(|| {
            Failure::usage(
                "--iphone: the address has no host and port; write --url https://HOST:5233",
            )
        })?;
        let machine = machine_name();
        let (mut authority, mut authority_fingerprint) = (None, None);
        if is_home_name(&host, &machine) {
            let directory = config_directory()?;
            create_parent_dir(&directory.join("serve-cert.pem"))?;
            let mut names = own_names(&[]);
            names.push(host.clone());
            let had_one = OwnCertificate::find(&directory).is_some();
            let own =
                OwnCertificate::ensure_issued(&directory, &machine, &names).map_err(explain)?;
            (authority, authority_fingerprint) = (own.authority(), own.authority_fingerprint());
            if authority.is_none() {
                app.out.write_note(&format!(
                "{} was not made by etui, so the profile has no authority: the phone has to trust that certificate",
                own.files.certificate.display()
            ));
            } else if own.is_new && had_one {
                app.out.write_note(
                "The server's certificate was made again; devices that accepted the former one ask once more",
            );
            }
        } else {
            app.out.write_note(&format!(
            "{host} is not a name or an address of a home network: the profile has no authority, and {host} needs a \
             certificate that iPhones know, such as one by ACME (the book, server.md)"
        ));
        }
        let file = match &args.profile {
            None => None,
            Some(path) if path.exists() => {
                return Err(Failure::Exists(format!(
                    "{}: there is such a file already",
                    path.display()
                )));
            }
            Some(path) => {
                // Readable only by its owner; removed if it is not used.
                let file = NamedTempFile::new_in(offers_beside(path));
                Some((path.clone(), file.map_err(|e| Failure::io(path, e))?))
            }
        };
        Ok(Self {
            host,
            port,
            authority,
            authority_fingerprint,
            file,
        })
    }

    /// Writes a profile, or offers it to the server's clients.
    pub fn place(
        self,
        device: &str,
        store: &Store,
        password: &str,
        url: &ServerUrl,
    ) -> Result<ProfilePlace> {
        let profile = Profile {
            host: &self.host,
            port: self.port,
            user: &user_name_of(store.path()),
            password,
            device,
            authority: self.authority.as_deref(),
        };
        let xml = profile.to_xml();
        if let Some((path, mut file)) = self.file {
            file.write_all(xml.as_bytes())
                .and_then(|()| file.as_file().sync_all())
                .and_then(|()| Ok(file.persist_noclobber(&path).map(drop)?))
                .map_err(|e| Failure::io(&path, e))?;
            return Ok(ProfilePlace::File(path));
        }
        let directory = offers_beside(store.path());
        let offer = ProfileOffer::put(&directory, xml.as_bytes());
        let offer = offer.map_err(|e| Failure::io(&directory, e))?;
        let base = url.text();
        Ok(ProfilePlace::Offered {
            address: format!("{}{}", base.trim_end_matches('/'), offer.path),
            until: offer.until,
        })
    }
}

/// Writes the steps from a profile to the accounts.
pub fn explain_profile(
    app: &mut App,
    placed: &ProfilePlace,
    authority: Option<&str>,
) -> Result<()> {
    match placed {
        ProfilePlace::Offered { address, until } => {
            if app.out.terminal {
                app.out.status(
                    "\nOn the iPhone, scan this with the camera, and open it in Safari:\n",
                )?;
                app.out.write_line(qr_code(address, app.out.colour)?)?;
            } else {
                app.out
                    .status("\nOn the iPhone, open the profile's address in Safari.")?;
            }
            let zone = app.out.time_zone();
            let until = format_minute(*until, &zone);
            app.out.status(format!(
                "\nThe address works once, until {until}, while `etui serve` runs."
            ))?;
        }
        ProfilePlace::File(_) => {
            app.out.status(
                "\nThe file has the password. Send it by AirDrop, or open it on the Mac; then delete it.",
            )?;
        }
    }
    app.out
        .status("Install the profile in Settings, Profile Downloaded.")?;
    if let Some(authority) = authority {
        app.out.status(format!(
            "Then turn its authority on in Settings, General, About, Certificate Trust Settings. The details of the\n\
             profile show its fingerprint (SHA-256):\n  {authority}"
        ))?;
    }
    app.out.status("\nThe password is shown only now.")
}
