//! TLS certificates from files, which are read again when they change.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServeError;

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
pub fn fingerprint_of(certificate: &CertificateDer<'_>) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let pairs = digest.as_ref().iter().map(|byte| format!("{byte:02X}"));
    pairs.collect::<Vec<_>>().join(":")
}
