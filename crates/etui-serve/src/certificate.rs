//! TLS certificates: read from files, again when they change; or made here.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;

use crate::error::ServeError;

/// How long a certificate made here is valid. iOS takes none that is valid for more than 825 days.
const VALID: Duration = Duration::from_secs(820 * 24 * 60 * 60);

/// How long before its end a new one is made.
const RENEWED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The line before a certificate made here, with the Unix time at which it ends.
const VALID_UNTIL: &str = "# etui serve, valid until ";

/// The line with its names and addresses.
const NAMES: &str = "# names: ";

/// The most names of a certificate: those of networks that a machine was in come first to their end.
const MAX_NAMES: usize = 40;

/// The longest file of a certificate or a key, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The files of a certificate, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, then those of the authorities in between.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// A certificate from files. They are read again when they change.
pub struct Certificates {
    files: TlsFiles,
    state: Mutex<CertificateState>,
}

struct CertificateState {
    /// The files as they were when they were last read.
    stamp: Option<Stamp>,
    config: Arc<ServerConfig>,
    fingerprint: String,
}

/// Time, size and inode of both files.
type Stamp = [(SystemTime, u64, u64); 2];

impl Certificates {
    /// Reads the files.
    ///
    /// # Errors
    /// [`ServeError::Certificate`].
    pub fn load(files: TlsFiles) -> Result<Self, ServeError> {
        let stamp = read_stamp(&files).ok();
        let (config, fingerprint) = read_config(&files)?;
        let state = Mutex::new(CertificateState {
            stamp,
            config,
            fingerprint,
        });
        Ok(Self { files, state })
    }

    /// Returns the configuration for the next connection. If the files changed, they are read again; the
    /// result is reported to `report`. Files that cannot be used, such as a certificate whose key has not been
    /// replaced yet, leave the former ones in use.
    pub fn current(&self, report: impl FnOnce(Result<&str, ServeError>)) -> Arc<ServerConfig> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = read_stamp(&self.files).ok();
        if stamp.is_some() && stamp != state.stamp {
            // Set first, so that files that cannot be read are reported once.
            state.stamp = stamp;
            match read_config(&self.files) {
                Ok((config, fingerprint)) => {
                    (state.config, state.fingerprint) = (config, fingerprint);
                    report(Ok(&state.fingerprint));
                }
                Err(error) => report(Err(error)),
            }
        }
        Arc::clone(&state.config)
    }

    /// Returns the SHA-256 fingerprint of the certificate, as browsers and DAVx5 show it.
    pub fn fingerprint(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.fingerprint.clone()
    }
}

fn read_stamp(files: &TlsFiles) -> io::Result<Stamp> {
    let stamp = |path: &Path| {
        let found = std::fs::metadata(path)?;
        Ok::<_, io::Error>((found.modified()?, found.len(), found.ino()))
    };
    Ok([stamp(&files.certificate)?, stamp(&files.key)?])
}

/// Returns the configuration with a certificate, and its fingerprint.
fn read_config(files: &TlsFiles) -> Result<(Arc<ServerConfig>, String), ServeError> {
    let about = |path: &Path, reason: String| ServeError::Certificate {
        path: path.to_owned(),
        reason,
    };
    let certificate = read_file(&files.certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
    let chain = chain.map_err(|e| about(&files.certificate, format!("is not PEM: {e}")))?;
    let Some(first) = chain.first() else {
        let reason = "has no certificate in PEM (-----BEGIN CERTIFICATE-----)".to_owned();
        return Err(about(&files.certificate, reason));
    };
    let fingerprint = fingerprint_of(first);
    let key = PrivateKeyDer::from_pem_slice(&read_file(&files.key)?);
    let key = key.map_err(|e| about(&files.key, format!("has no private key in PEM: {e}")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|e| about(&files.certificate, e.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), fingerprint))
}

fn read_file(path: &Path) -> Result<Vec<u8>, ServeError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes)
    };
    read().map_err(|e| ServeError::Certificate {
        path: path.to_owned(),
        reason: e.to_string(),
    })
}

/// Returns the SHA-256 of a certificate, in pairs of hexadecimal digits.
fn fingerprint_of(certificate: &CertificateDer<'_>) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let pairs = digest.as_ref().iter().map(|byte| format!("{byte:02X}"));
    pairs.collect::<Vec<_>>().join(":")
}

/// A certificate made by the server for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnCertificate {
    /// Its files.
    pub files: TlsFiles,
    /// It was made just now, so that devices have to accept it.
    pub is_new: bool,
    names: Vec<String>,
}

impl OwnCertificate {
    /// Returns the certificate in `directory`; makes one for these names and addresses if there is none, or it
    /// is about to end or lacks one of them. Its key is readable only by its owner.
    ///
    /// # Errors
    /// [`ServeError::Certificate`].
    pub fn ensure(directory: &Path, names: &[String]) -> Result<Self, ServeError> {
        let files = TlsFiles {
            certificate: directory.join("serve-cert.pem"),
            key: directory.join("serve-key.pem"),
        };
        let mut own = Self {
            files,
            is_new: false,
            names: names.to_vec(),
        };
        own.is_new = own.renew()?;
        Ok(own)
    }

    /// Makes a new certificate, with a new key, if the present one is about to end or does not have all names; returns
    /// true if it did. Names of before stay, so that a machine that goes between two networks has one certificate.
    ///
    /// # Errors
    /// [`ServeError::Certificate`].
    pub fn renew(&self) -> Result<bool, ServeError> {
        let files = &self.files;
        let present = std::fs::read_to_string(&files.certificate).unwrap_or_default();
        let has_key = files.key.exists();
        if has_key && is_valid_for(&present, RENEWED) && has_names(&present, &self.names) {
            return Ok(false);
        }
        let mut names = self.names.clone();
        let former = present.lines().find_map(|line| line.strip_prefix(NAMES));
        let former = former.into_iter().flat_map(str::split_ascii_whitespace);
        names.extend(former.map(str::to_owned));
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names.truncate(MAX_NAMES);
        make_certificate(files, &names).map_err(|reason| ServeError::Certificate {
            path: files.certificate.clone(),
            reason,
        })?;
        Ok(true)
    }
}

/// Returns true if there is a certificate that does not end within `rest`. One that was not made here is never
/// replaced.
fn is_valid_for(certificate: &str, rest: Duration) -> bool {
    if certificate.is_empty() {
        return false;
    }
    let end = certificate
        .lines()
        .find_map(|line| line.strip_prefix(VALID_UNTIL));
    match end.and_then(|seconds| seconds.trim().parse().ok()) {
        Some(end) => UNIX_EPOCH + Duration::from_secs(end) > SystemTime::now() + rest,
        None => true,
    }
}

/// Returns true if a certificate has all these names (RFC 9525 section 6), or was not made here.
fn has_names(certificate: &str, names: &[String]) -> bool {
    let is_own = certificate
        .lines()
        .any(|line| line.starts_with(VALID_UNTIL));
    let Ok(first) = CertificateDer::from_pem_slice(certificate.as_bytes()) else {
        return !is_own;
    };
    let Ok(parsed) = ParsedCertificate::try_from(&first) else {
        return !is_own;
    };
    let has = |name: &String| {
        ServerName::try_from(name.as_str())
            .is_ok_and(|name| verify_server_name(&parsed, &name).is_ok())
    };
    !is_own || names.iter().all(has)
}

fn make_certificate(files: &TlsFiles, names: &[String]) -> Result<(), String> {
    let now = SystemTime::now();
    let until = now + VALID;
    let mut parameters = CertificateParams::new(names).map_err(|e| e.to_string())?;
    parameters.not_before = (now - Duration::from_secs(24 * 60 * 60)).into();
    parameters.not_after = until.into();
    let distinguished = &mut parameters.distinguished_name;
    distinguished.push(DnType::CommonName, "etui serve");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(|e| e.to_string())?;
    let made = parameters.self_signed(&key).map_err(|e| e.to_string())?;
    let seconds = until
        .duration_since(UNIX_EPOCH)
        .map_err(|e| e.to_string())?;
    let names = names.join(" ");
    let text = format!(
        "{VALID_UNTIL}{}\n{NAMES}{names}\n{}",
        seconds.as_secs(),
        made.pem()
    );
    // The key first: a certificate without its key would not be made again.
    replace_file(&files.key, &key.serialize_pem(), 0o600)
        .and_then(|()| replace_file(&files.certificate, &text, 0o644))
        .map_err(|e| e.to_string())
}

/// Writes a file under another name, then renames it.
fn replace_file(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let part = path.with_extension("part");
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}
