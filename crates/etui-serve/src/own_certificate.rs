//! [`OwnCertificate`]: the certificate of `etui serve --tls`, issued by the [`Authority`] of the home.
//!
//! ```text
//! serve-key.pem    its private key, readable only by its owner
//! serve-cert.pem   # etui serve, valid until UNIX-TIME
//!                  # names: NAME...
//!                  the certificate, then that of its authority (serve-ca.pem)
//! ```
//!
//! Certificates that signed themselves, as the first versions made them, stay in use until they end or lack a name:
//! devices have accepted their fingerprints, and would ask again.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;

use crate::authority::{
    Authority, HOME_DOMAINS, Permitted, RENEWED, VALID_UNTIL, is_before_end, line_after,
};
use crate::certificate::{TlsFiles, fingerprint_of};
use crate::error::ServeError;
use crate::private_file::replace_file;

/// The line with the names and addresses of a certificate.
const NAMES: &str = "# names: ";

/// The most names of a certificate: those of networks that a machine was in come first to their end.
const MAX_NAMES: usize = 40;

/// A certificate made by the server for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnCertificate {
    /// Its files.
    pub files: TlsFiles,
    /// It was made just now, so that devices that have accepted its fingerprint have to accept another one.
    pub is_new: bool,
    directory: PathBuf,
    machine: String,
    names: Vec<String>,
}

/// A certificate on the disk.
enum Present {
    /// There is none, or its key is missing.
    None,
    /// It was not made here.
    Foreign,
    /// It signed itself.
    SelfSigned(String),
    /// An authority of the home signed it.
    Issued(String),
}

impl OwnCertificate {
    /// Returns the certificate in `directory`; makes one for the name of a machine, and these names and addresses, if
    /// there is none, or it is about to end or lacks one of them. Its key is readable only by its owner. Names
    /// and addresses that are not of homes are left out ([`OwnCertificate::left_out`]).
    ///
    /// # Errors
    /// [`ServeError::Certificate`].
    pub fn ensure(directory: &Path, machine: &str, names: &[String]) -> Result<Self, ServeError> {
        Self::ensure_kind(directory, machine, names, false)
    }

    /// As [`Self::ensure`], and replaces a certificate that signed itself: an iPhone takes none of those.
    ///
    /// # Errors
    /// [`ServeError::Certificate`].
    pub fn ensure_issued(
        directory: &Path,
        machine: &str,
        names: &[String],
    ) -> Result<Self, ServeError> {
        Self::ensure_kind(directory, machine, names, true)
    }

    /// Returns the certificate in `directory`, as it is; `None` if there is none.
    #[must_use]
    pub fn find(directory: &Path) -> Option<Self> {
        let own = Self::in_directory(directory, "", &[]);
        (!matches!(own.present(), Present::None)).then_some(own)
    }

    fn in_directory(directory: &Path, machine: &str, names: &[String]) -> Self {
        Self {
            files: TlsFiles {
                certificate: directory.join("serve-cert.pem"),
                key: directory.join("serve-key.pem"),
            },
            is_new: false,
            directory: directory.to_owned(),
            machine: machine.to_owned(),
            names: names.to_vec(),
        }
    }

    fn ensure_kind(
        directory: &Path,
        machine: &str,
        names: &[String],
        is_issued: bool,
    ) -> Result<Self, ServeError> {
        let mut own = Self::in_directory(directory, machine, names);
        own.is_new = own.renew_kind(is_issued)?;
        Ok(own)
    }

    /// Makes a new certificate, with a new key, if the present one is about to end or does not have all names; returns
    /// true if it did. Names of before stay, so that a machine that goes between two networks has one certificate.
    ///
    /// # Errors
    /// [`ServeError::Certificate`].
    pub fn renew(&self) -> Result<bool, ServeError> {
        self.renew_kind(false)
    }

    fn renew_kind(&self, is_issued: bool) -> Result<bool, ServeError> {
        let about = |path: &Path, reason: String| ServeError::Certificate {
            path: path.to_owned(),
            reason,
        };
        // The server and a command may find at the same time that there is none.
        let lock = File::open(&self.directory)
            .and_then(|directory| {
                Ok(flock(&directory, FlockOperation::LockExclusive).map(|()| directory)?)
            })
            .map_err(|e| about(&self.directory, e.to_string()))?;
        let present = self.present();
        let text = match &present {
            Present::Foreign => return Ok(false),
            Present::SelfSigned(text) if !is_issued && is_valid_for(text, &self.names) => {
                return Ok(false);
            }
            Present::SelfSigned(text) | Present::Issued(text) => text.as_str(),
            Present::None => "",
        };
        let path = Authority::path_in(&self.directory);
        let authority = Authority::load(&self.directory).map_err(|reason| about(&path, reason))?;
        if let (Present::Issued(text), Some(authority)) = (&present, &authority) {
            let permitted = self.permitted_names(authority.permitted());
            if is_valid_for(text, &permitted) {
                return Ok(false);
            }
        }
        let authority = match authority {
            Some(authority) => authority,
            None => Authority::make(&self.directory, &self.machine)
                .map_err(|reason| about(&path, reason))?,
        };
        let names = self.all_names(text, authority.permitted());
        let write = || {
            let issued = authority.issue(&names)?;
            let (ends, names) = (issued.ends, names.join(" "));
            let text = format!("{VALID_UNTIL}{ends}\n{NAMES}{names}\n{}", issued.chain);
            // The key first: a certificate without its key would not be made again.
            replace_file(&self.files.key, issued.key.as_bytes(), 0o600)
                .and_then(|()| replace_file(&self.files.certificate, text.as_bytes(), 0o644))
                .map_err(|e| e.to_string())
        };
        write().map_err(|reason| about(&self.files.certificate, reason))?;
        drop(lock);
        Ok(true)
    }

    /// Reads the present certificate.
    fn present(&self) -> Present {
        let text = std::fs::read_to_string(&self.files.certificate).unwrap_or_default();
        if text.is_empty() || !self.files.key.exists() {
            return Present::None;
        }
        if line_after(&text, VALID_UNTIL).is_none() {
            return Present::Foreign;
        }
        match CertificateDer::pem_slice_iter(text.as_bytes()).count() {
            0 => Present::None,
            1 => Present::SelfSigned(text),
            _ => Present::Issued(text),
        }
    }

    /// Returns the names and addresses of a new certificate: those that are served, those under which home networks
    /// may know the machine, and those of before.
    fn all_names(&self, former: &str, permitted: &Permitted) -> Vec<String> {
        let mut names = self.names.clone();
        let first_label = self.machine.split('.').next().unwrap_or_default();
        if !first_label.is_empty() {
            names.push(self.machine.clone());
            let domains = HOME_DOMAINS.iter().filter(|domain| **domain != "localhost");
            names.extend(domains.map(|domain| format!("{first_label}.{domain}")));
        }
        let former = line_after(former, NAMES).unwrap_or_default();
        names.extend(former.split_ascii_whitespace().map(str::to_owned));
        let mut seen = HashSet::new();
        names.retain(|name| permitted.has(name) && seen.insert(name.clone()));
        names.truncate(MAX_NAMES);
        names
    }

    fn permitted_names(&self, permitted: &Permitted) -> Vec<String> {
        let names = self.names.iter().filter(|name| permitted.has(name));
        names.cloned().collect()
    }

    /// Returns the DER of the authority that signed it; `None`: it signed itself, or was not made here.
    #[must_use]
    pub fn authority(&self) -> Option<Vec<u8>> {
        let Present::Issued(text) = self.present() else {
            return None;
        };
        let last = CertificateDer::pem_slice_iter(text.as_bytes()).last()?;
        Some(last.ok()?.to_vec())
    }

    /// Returns the SHA-256 fingerprint of that authority, as phones show it.
    #[must_use]
    pub fn authority_fingerprint(&self) -> Option<String> {
        let authority = self.authority()?;
        Some(fingerprint_of(&CertificateDer::from(authority)))
    }

    /// Returns the SHA-256 fingerprint of the certificate itself.
    #[must_use]
    pub fn fingerprint(&self) -> Option<String> {
        let certificate = CertificateDer::from_pem_file(&self.files.certificate);
        certificate
            .ok()
            .map(|certificate| fingerprint_of(&certificate))
    }

    /// Returns true if the certificate signed itself, as those of the first versions did.
    #[must_use]
    pub fn is_self_signed(&self) -> bool {
        matches!(self.present(), Present::SelfSigned(_))
    }

    /// Returns true if the certificate has this name or address.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        let text = std::fs::read_to_string(&self.files.certificate).unwrap_or_default();
        has_names(&text, &[name.to_owned()])
    }

    /// Returns the names and addresses that are served, and that the certificate does not have because its authority
    /// is for homes only.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        if !matches!(self.present(), Present::Issued(_)) {
            return Vec::new();
        }
        let names = self.names.iter().filter(|name| !self.has_name(name));
        names.cloned().collect()
    }
}

/// Returns true if a name or an address is of homes, so that the authority of this machine may certify it.
#[must_use]
pub fn is_home_name(name: &str, machine: &str) -> bool {
    Permitted::home_of(machine).has(name)
}

/// Returns true if a certificate does not end soon, and has these names.
fn is_valid_for(certificate: &str, names: &[String]) -> bool {
    let ends = line_after(certificate, VALID_UNTIL).and_then(|ends| ends.parse().ok());
    ends.is_some_and(|ends| is_before_end(ends, RENEWED)) && has_names(certificate, names)
}

/// Returns true if a certificate has all these names (RFC 9525 section 6).
fn has_names(certificate: &str, names: &[String]) -> bool {
    let Ok(first) = CertificateDer::from_pem_slice(certificate.as_bytes()) else {
        return false;
    };
    let Ok(parsed) = ParsedCertificate::try_from(&first) else {
        return false;
    };
    names.iter().all(|name| {
        ServerName::try_from(name.as_str())
            .is_ok_and(|name| verify_server_name(&parsed, &name).is_ok())
    })
}
