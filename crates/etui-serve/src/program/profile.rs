//! Profiles for iPhone, iPad and Mac: an account for contacts, one for calendars, and the home's authority.
//!
//! A profile is a property list in XML (<https://developer.apple.com/documentation/devicemanagement>):
//!
//! ```text
//! Configuration
//! ├ com.apple.security.root     the authority, if the address is one of the home
//! ├ com.apple.carddav.account   host, port, user, password
//! └ com.apple.caldav.account    host, port, user, password
//! ```
//!
//! Its identifiers come from host, user and device, so that another profile for the same device replaces the first one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The path of the principal: that of the device's user, also on a server with several.
const PRINCIPAL: &str = "/dav/me/";

/// The content of a profile.
pub struct Profile<'a> {
    /// The host of the server, without brackets.
    pub host: &'a str,
    pub port: u16,
    pub user: &'a str,
    pub password: &'a str,
    /// The name of the device, which may have any characters but control ones.
    pub device: &'a str,
    /// The authority's certificate (DER).
    pub authority: Option<&'a [u8]>,
}

/// A value of a property list.
enum Value {
    Text(String),
    Number(u16),
    Flag(bool),
    Data(Vec<u8>),
    List(Vec<Value>),
    Dict(Vec<(&'static str, Value)>),
}

impl Profile<'_> {
    /// Returns the text of the profile.
    pub fn to_xml(&self) -> String {
        let id = self.id("profile");
        let identifier = format!("org.etui.profile.{}", hex(&id[..8]));
        let account = format!("{} on {}", self.user, self.host);
        let mut payloads = Vec::new();
        if let Some(authority) = self.authority {
            let text = "Lets this device trust the server. It can certify names and addresses of home networks only.";
            let mut entries = self.common("authority", &identifier, "com.apple.security.root");
            entries.extend([
                ("PayloadDisplayName", text_of("The authority of the server")),
                ("PayloadDescription", text_of(text)),
                ("PayloadCertificateFileName", text_of("etui-ca.crt")),
                ("PayloadContent", Value::Data(authority.to_vec())),
            ]);
            payloads.push(Value::Dict(entries));
        }
        let mut contacts = self.common("contacts", &identifier, "com.apple.carddav.account");
        contacts.extend([
            ("PayloadDisplayName", text_of("Contacts")),
            (
                "PayloadDescription",
                text_of("An account for contacts (CardDAV)."),
            ),
            ("CardDAVAccountDescription", text_of(&account)),
            ("CardDAVHostName", text_of(self.host)),
            ("CardDAVPort", Value::Number(self.port)),
            ("CardDAVUseSSL", Value::Flag(true)),
            ("CardDAVUsername", text_of(self.user)),
            ("CardDAVPassword", text_of(self.password)),
            ("CardDAVPrincipalURL", text_of(PRINCIPAL)),
        ]);
        payloads.push(Value::Dict(contacts));
        let mut calendars = self.common("calendars", &identifier, "com.apple.caldav.account");
        calendars.extend([
            ("PayloadDisplayName", text_of("Calendars")),
            (
                "PayloadDescription",
                text_of("An account for calendars (CalDAV)."),
            ),
            ("CalDAVAccountDescription", text_of(&account)),
            ("CalDAVHostName", text_of(self.host)),
            ("CalDAVPort", Value::Number(self.port)),
            ("CalDAVUseSSL", Value::Flag(true)),
            ("CalDAVUsername", text_of(self.user)),
            ("CalDAVPassword", text_of(self.password)),
            ("CalDAVPrincipalURL", text_of(PRINCIPAL)),
        ]);
        payloads.push(Value::Dict(calendars));
        let description = format!(
            "Adds the contacts and calendars of {} on {} to this device, which the server knows as {}. To remove \
             them, remove this profile.",
            self.user, self.host, self.device
        );
        let profile = Value::Dict(vec![
            ("PayloadType", text_of("Configuration")),
            ("PayloadVersion", Value::Number(1)),
            ("PayloadIdentifier", text_of(&identifier)),
            ("PayloadUUID", text_of(&uuid(id))),
            (
                "PayloadDisplayName",
                text_of(&format!("Contacts and calendars of {account}")),
            ),
            ("PayloadDescription", text_of(&description)),
            ("PayloadOrganization", text_of("etui")),
            ("PayloadRemovalDisallowed", Value::Flag(false)),
            ("PayloadContent", Value::List(payloads)),
        ]);
        let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                       <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
                       \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n"
            .to_owned();
        profile.write(&mut xml, 0);
        xml += "</plist>\n";
        xml
    }

    /// Returns the entries that every payload has.
    fn common(
        &self,
        part: &'static str,
        identifier: &str,
        kind: &str,
    ) -> Vec<(&'static str, Value)> {
        vec![
            ("PayloadType", text_of(kind)),
            ("PayloadVersion", Value::Number(1)),
            (
                "PayloadIdentifier",
                text_of(&format!("{identifier}.{part}")),
            ),
            ("PayloadUUID", text_of(&uuid(self.id(part)))),
        ]
    }

    /// Returns the identity of a part of this device's profile.
    fn id(&self, part: &str) -> [u8; 16] {
        let mut hash = blake3::Hasher::new_derive_key("etui serve profile identifiers");
        for text in [part, self.host, self.user, self.device] {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        let mut id = [0; 16];
        hash.finalize_xof().fill(&mut id);
        id
    }
}

/// Returns a UUID of version 8 (RFC 9562 section 5.8), whose other bits are ours.
fn uuid(mut id: [u8; 16]) -> String {
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    let text = hex(&id).to_ascii_uppercase();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| text[part].to_owned());
    parts.join("-")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text_of(text: &str) -> Value {
    Value::Text(text.to_owned())
}

impl Value {
    fn write(&self, xml: &mut String, depth: usize) {
        let indent = "\t".repeat(depth);
        match self {
            Self::Text(text) => *xml += &format!("{indent}<string>{}</string>\n", escape(text)),
            Self::Number(number) => *xml += &format!("{indent}<integer>{number}</integer>\n"),
            Self::Flag(true) => *xml += &format!("{indent}<true/>\n"),
            Self::Flag(false) => *xml += &format!("{indent}<false/>\n"),
            Self::Data(bytes) => {
                *xml += &format!("{indent}<data>{}</data>\n", STANDARD.encode(bytes));
            }
            Self::List(values) => {
                *xml += &format!("{indent}<array>\n");
                for value in values {
                    value.write(xml, depth + 1);
                }
                *xml += &format!("{indent}</array>\n");
            }
            Self::Dict(entries) => {
                *xml += &format!("{indent}<dict>\n");
                for (key, value) in entries {
                    *xml += &format!("{indent}\t<key>{key}</key>\n");
                    value.write(xml, depth + 1);
                }
                *xml += &format!("{indent}</dict>\n");
            }
        }
    }
}

/// Returns text of an XML element. A character that XML 1.0 does not have becomes U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
