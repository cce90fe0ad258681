//! [`Authority`]: the home's own certificate authority, which can certify nothing but the home.
//!
//! ```text
//! serve-ca-key.pem   its private key (ECDSA P-256), readable only by its owner
//! serve-ca.pem       # etui serve, valid until UNIX-TIME
//!                    # authority: NAME
//!                    # permits: DOMAIN... NETWORK/PREFIX...
//!                    -----BEGIN CERTIFICATE-----
//! ```
//!
//! Devices that trust it are asked to trust it for these names and networks only (RFC 5280 section 4.2.1.10), so that
//! whoever steals its key can pretend to be no site of the Internet. The lines before the certificate say what it has, so
//! that no parser of certificates is needed here; every certificate that it issues is verified before it is used.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use crate::private_file::replace_file;

/// How long an authority is valid: as long as devices are kept, since each trusts it by hand.
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How long a certificate is valid, counted from the day before. Apple's systems take 825 days at most of an authority
/// that a person added (<https://support.apple.com/en-us/103769>), and 398 of others, which may come for these too. Its
/// last second counts (RFC 5280 section 4.1.2.5).
const LIFETIME: Duration = Duration::from_secs(397 * 24 * 60 * 60 - 1);

/// Certificates begin this long ago: clocks of devices differ.
const CLOCK_MARGIN: Duration = Duration::from_secs(24 * 60 * 60);

/// How long before its end an authority or a certificate is made again.
pub const RENEWED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The line before a certificate made here, with the Unix time at which it ends.
pub const VALID_UNTIL: &str = "# etui serve, valid until ";

/// The line with the name of an authority.
const NAME: &str = "# authority: ";

/// The line with the domains and networks of an authority.
const PERMITS: &str = "# permits: ";

/// Domains of home networks: of this machine, of mDNS (RFC 6762), of RFC 8375, that which ICANN reserved for private
/// use, and those that routers have been using.
pub const HOME_DOMAINS: [&str; 6] = ["localhost", "local", "home.arpa", "internal", "lan", "home"];

/// Networks of homes: private (RFC 1918, RFC 4193), link-local (RFC 3927, RFC 4291), shared (RFC 6598, which Tailscale
/// uses), and this machine.
const HOME_NETWORKS: [&str; 9] = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "fc00::/7",
    "fe80::/10",
    "::1/128",
];

/// The longest name of an authority, in characters (RFC 5280, `ub-common-name`).
const MAX_NAME: usize = 64;

/// Domains and networks that an authority may certify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permitted(Vec<String>);

impl Permitted {
    /// Returns those of the home of a machine; a machine without a name has none of its own.
    pub fn home_of(machine: &str) -> Self {
        let mut all: Vec<String> = HOME_DOMAINS.iter().map(|&name| name.to_owned()).collect();
        let is_named = matches!(ServerName::try_from(machine), Ok(ServerName::DnsName(_)));
        all.extend(is_named.then(|| machine.to_ascii_lowercase()));
        all.extend(HOME_NETWORKS.iter().map(|&network| network.to_owned()));
        Self(all)
    }

    /// Returns true if a name or an address is permitted, and one that a certificate can have.
    pub fn has(&self, name: &str) -> bool {
        if ServerName::try_from(name).is_err() {
            return false;
        }
        if let Ok(address) = name.parse::<IpAddr>() {
            let mut networks = self.0.iter().filter_map(|network| parse_network(network));
            return networks.any(|(network, prefix)| is_within(address, network, prefix));
        }
        let name = name.to_ascii_lowercase();
        let mut domains = self.0.iter().filter(|domain| !domain.contains('/'));
        domains.any(|domain| {
            let rest = name.strip_suffix(domain.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.') && rest.len() > 1)
        })
    }

    /// Returns them as the extension of a certificate.
    fn constraints(&self) -> NameConstraints {
        let subtree = |text: &String| match parse_network(text) {
            Some((address, prefix)) => {
                GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(address, prefix))
            }
            None => GeneralSubtree::DnsName(text.clone()),
        };
        NameConstraints {
            permitted_subtrees: self.0.iter().map(subtree).collect(),
            excluded_subtrees: Vec::new(),
        }
    }
}

fn parse_network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    Some((address.parse().ok()?, prefix.parse().ok()?))
}

fn is_within(address: IpAddr, network: IpAddr, prefix: u8) -> bool {
    let prefix = u32::from(prefix);
    match (address, network) {
        // A shift by all bits is none: a prefix of 0 has every address.
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let differ = address.to_bits() ^ network.to_bits();
            differ.checked_shr(32 - prefix.min(32)).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let differ = address.to_bits() ^ network.to_bits();
            differ.checked_shr(128 - prefix.min(128)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// The authority, with its key.
pub struct Authority {
    certificate: CertificateDer<'static>,
    pem: String,
    ends: u64,
    permitted: Permitted,
    issuer: Issuer<'static, KeyPair>,
}

/// The files of an authority in a directory.
struct AuthorityFiles {
    certificate: PathBuf,
    key: PathBuf,
}

impl AuthorityFiles {
    fn in_directory(directory: &Path) -> Self {
        Self {
            certificate: directory.join("serve-ca.pem"),
            key: directory.join("serve-ca-key.pem"),
        }
    }
}

/// A certificate that was issued, in PEM.
pub struct Issued {
    /// The certificate, then that of the authority.
    pub chain: String,
    /// Its private key.
    pub key: String,
    /// Its end, as a Unix time.
    pub ends: u64,
}

impl Authority {
    /// Returns the path of the certificate in a directory.
    pub fn path_in(directory: &Path) -> PathBuf {
        AuthorityFiles::in_directory(directory).certificate
    }

    /// Reads the authority in `directory`. `None`: there is none, it is about to end, or its key is lost.
    ///
    /// # Errors
    /// The problem of a file that is none of ours, which is not replaced.
    pub fn load(directory: &Path) -> Result<Option<Self>, String> {
        let files = AuthorityFiles::in_directory(directory);
        let Ok(text) = std::fs::read_to_string(&files.certificate) else {
            return Ok(None);
        };
        let certificate = CertificateDer::from_pem_slice(text.as_bytes());
        let certificate = certificate.map_err(|e| format!("is not PEM: {e}"))?;
        let lines = (
            line_after(&text, VALID_UNTIL).and_then(|end| end.parse().ok()),
            line_after(&text, NAME),
            line_after(&text, PERMITS),
        );
        let (Some(ends), Some(name), Some(permits)) = lines else {
            return Err("was not made by etui; move it elsewhere".to_owned());
        };
        let key = std::fs::read_to_string(&files.key).ok();
        let Some(key) = key.and_then(|key| KeyPair::from_pem(&key).ok()) else {
            return Ok(None);
        };
        // The key of another certificate: what it signs would be refused everywhere.
        let public = key.public_key_raw();
        let is_its_key = certificate.windows(public.len()).any(|at| at == public);
        if !is_its_key || !is_before_end(ends, RENEWED) {
            return Ok(None);
        }
        let permitted = permits.split_ascii_whitespace().map(str::to_owned);
        let permitted = Permitted(permitted.collect());
        let parameters = authority_parameters(name, &permitted);
        Ok(Some(Self {
            certificate,
            pem: text,
            ends,
            permitted,
            issuer: Issuer::new(parameters, key),
        }))
    }

    /// Makes an authority for the home of a machine, in the place of the one that is there.
    ///
    /// # Errors
    /// The problem of a file or of the random numbers.
    pub fn make(directory: &Path, machine: &str) -> Result<Self, String> {
        let files = AuthorityFiles::in_directory(directory);
        let name = match machine {
            "" => "etui".to_owned(),
            machine => format!("etui on {machine}"),
        };
        let name: String = name.chars().take(MAX_NAME).collect();
        let permitted = Permitted::home_of(machine);
        let mut parameters = authority_parameters(&name, &permitted);
        let now = SystemTime::now();
        let end = now + AUTHORITY_LIFETIME;
        parameters.not_before = (now - CLOCK_MARGIN).into();
        parameters.not_after = end.into();
        let ends = unix_time(end)?;
        let key = KeyPair::generate().map_err(|e| e.to_string())?;
        let certificate = parameters.self_signed(&key).map_err(|e| e.to_string())?;
        let permits = permitted.0.join(" ");
        let pem = format!(
            "{VALID_UNTIL}{ends}\n{NAME}{name}\n{PERMITS}{permits}\n{}",
            certificate.pem()
        );
        // The key first: a certificate without its key would be made again.
        replace_file(&files.key, key.serialize_pem().as_bytes(), 0o600)
            .and_then(|()| replace_file(&files.certificate, pem.as_bytes(), 0o644))
            .map_err(|e| e.to_string())?;
        Ok(Self {
            certificate: certificate.der().clone(),
            pem,
            ends,
            permitted,
            issuer: Issuer::new(parameters, key),
        })
    }

    /// Returns the domains and networks that it may certify.
    pub fn permitted(&self) -> &Permitted {
        &self.permitted
    }

    /// Issues the certificate of a server with these names, all of which have to be permitted, and a new key.
    ///
    /// # Errors
    /// The reason why none was issued, or why the issued one would be refused by clients.
    pub fn issue(&self, names: &[String]) -> Result<Issued, String> {
        let mut parameters = CertificateParams::new(names).map_err(|e| e.to_string())?;
        let begin = SystemTime::now() - CLOCK_MARGIN;
        // It does not outlive the authority.
        let end = (begin + LIFETIME).min(UNIX_EPOCH + Duration::from_secs(self.ends));
        parameters.not_before = begin.into();
        parameters.not_after = end.into();
        let subject = &mut parameters.distinguished_name;
        // For people who look at it. It is no name of the server: clients read those of subjectAltName.
        subject.remove(DnType::CommonName);
        subject.push(DnType::CommonName, "etui serve");
        parameters.is_ca = IsCa::ExplicitNoCa;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        parameters.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(|e| e.to_string())?;
        let issued = parameters.signed_by(&key, &self.issuer);
        let issued = issued.map_err(|e| e.to_string())?;
        self.verify(issued.der(), names)?;
        let own = self.pem.split_inclusive('\n');
        let own: String = own.filter(|line| !line.starts_with('#')).collect();
        Ok(Issued {
            chain: format!("{}{own}", issued.pem()),
            key: key.serialize_pem(),
            ends: unix_time(end)?,
        })
    }

    /// Verifies a certificate as a client does that trusts this authority only.
    fn verify(&self, issued: &CertificateDer<'_>, names: &[String]) -> Result<(), String> {
        let verify = || -> Result<(), rustls::Error> {
            let mut roots = RootCertStore::empty();
            roots.add(self.certificate.clone())?;
            let provider = Arc::new(default_provider());
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = verifier
                .build()
                .map_err(|e| rustls::Error::General(e.to_string()))?;
            for name in names {
                let name = ServerName::try_from(name.as_str())
                    .map_err(|e| rustls::Error::General(e.to_string()))?;
                verifier.verify_server_cert(issued, &[], &name, &[], UnixTime::now())?;
            }
            Ok(())
        };
        verify().map_err(|e| {
            format!(
                "the authority cannot sign it ({e}); move serve-ca.pem elsewhere, and another one is made"
            )
        })
    }
}

/// Returns what a certificate of an authority and its issuer have in common.
fn authority_parameters(name: &str, permitted: &Permitted) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    let subject = &mut parameters.distinguished_name;
    subject.remove(DnType::CommonName);
    subject.push(DnType::CommonName, name);
    // It signs servers, and no further authorities.
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters.name_constraints = Some(permitted.constraints());
    parameters
}

/// Returns the rest of the first line that begins so.
pub fn line_after<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    Some(rest.trim())
}

/// Returns true if a Unix time is not within `rest` from now.
pub fn is_before_end(ends: u64, rest: Duration) -> bool {
    UNIX_EPOCH + Duration::from_secs(ends) > SystemTime::now() + rest
}

fn unix_time(time: SystemTime) -> Result<u64, String> {
    let since = time.duration_since(UNIX_EPOCH).map_err(|e| e.to_string())?;
    Ok(since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_homes_are_permitted() {
        let permitted = Permitted::home_of("Pc");
        for name in [
            "localhost",
            "pc",
            "PC.local",
            "a.pc",
            "pc.home.arpa",
            "pc.internal",
            "pc.lan",
            "pc.home",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.20",
            "169.254.3.4",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "::1",
            "fd00::7",
            "fe80::1",
        ] {
            assert!(permitted.has(name), "{name}");
        }
        for name in [
            "",
            "example.org",
            "other",
            "localhost.example.org",
            "xlan",
            ".lan",
            "notlocal",
            "arpa",
            "172.32.0.1",
            "172.15.255.255",
            "100.128.0.1",
            "192.169.0.1",
            "11.0.0.1",
            "192.0.2.7",
            "::2",
            "2001:db8::1",
            "fe00::1",
            "::ffff:192.168.1.20",
        ] {
            assert!(!permitted.has(name), "{name}");
        }
        assert!(!Permitted::home_of("").has("pc"));
        // The name of a machine that looks like an address is no domain.
        assert!(!Permitted::home_of("192.0.2.7").has("192.0.2.7"));
    }
}
