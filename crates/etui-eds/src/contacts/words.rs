//! [`DesktopWords`]: properties that the desktop knows under names of its own.
//!
//! ```text
//! IMPP;TYPE=home:xmpp:ada@example.org        X-JABBER;TYPE=home:ada@example.org
//! RELATED;TYPE=spouse;VALUE=text:William     X-EVOLUTION-SPOUSE:William
//! item1.X-ABRELATEDNAMES:William             item1.X-EVOLUTION-SPOUSE:William
//! item1.X-ABLabel:_$!<Spouse>!$_             item1.X-ABLabel:_$!<Spouse>!$_
//! KIND:group, MEMBER:urn:uuid:u1             the same, and X-EVOLUTION-LIST:TRUE,
//!                                            EMAIL;X-EVOLUTION-DEST-CONTACT-UID=u1:ada@example.org
//! ```
//!
//! On the way back each line becomes the stored one again, or, if its value was changed, one like it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use etui_contentline::edit::{head_without, is_one_of, own_lines};
use etui_contentline::lines::{ContentLine, ContentLines};
use etui_contentline::values::{escape_text, param_value, property_value, unescape_text};
use percent_encoding::percent_decode_str;

/// Messaging services: the desktop's property, the schemes of IMPP, the values of X-SERVICE-TYPE.
const SERVICES: &[(&str, &[&str], &str)] = &[
    ("X-AIM", &["aim"], "AIM"),
    ("X-GADUGADU", &["gg", "gadugadu"], "GaduGadu"),
    ("X-GOOGLE-TALK", &["gtalk"], "GoogleTalk"),
    ("X-GROUPWISE", &["groupwise"], "GroupWise"),
    ("X-ICQ", &["icq"], "ICQ"),
    ("X-JABBER", &["xmpp"], "Jabber"),
    ("X-MATRIX", &["matrix"], "Matrix"),
    ("X-MSN", &["msn", "msnim"], "MSN"),
    ("X-SKYPE", &["skype"], "Skype"),
    ("X-TWITTER", &["twitter"], "Twitter"),
    ("X-YAHOO", &["ymsgr", "yahoo"], "Yahoo"),
];

/// Properties that other programs write for one of the desktop's.
const RENAMED: &[(&str, &[&str])] = &[
    (
        "X-EVOLUTION-ANNIVERSARY",
        &[
            "ANNIVERSARY",
            "X-ANNIVERSARY",
            "X-KADDRESSBOOK-X-ANNIVERSARY",
            "X-MS-ANNIVERSARY",
        ],
    ),
    (
        "X-EVOLUTION-ASSISTANT",
        &[
            "X-ASSISTANT",
            "X-KADDRESSBOOK-X-ASSISTANTSNAME",
            "X-MS-ASSISTANT",
        ],
    ),
    (
        "X-EVOLUTION-MANAGER",
        &["X-MANAGER", "X-KADDRESSBOOK-X-MANAGERSNAME", "X-MS-MANAGER"],
    ),
    (
        "X-EVOLUTION-SPOUSE",
        &["X-SPOUSE", "X-KADDRESSBOOK-X-SPOUSENAME", "X-MS-SPOUSE"],
    ),
];

/// Apple's labels of the groups of X-ABRELATEDNAMES and X-ABDATE.
const LABELLED: &[(&str, &str, &str)] = &[
    ("X-EVOLUTION-ANNIVERSARY", "X-ABDATE", "anniversary"),
    ("X-EVOLUTION-ASSISTANT", "X-ABRELATEDNAMES", "assistant"),
    ("X-EVOLUTION-MANAGER", "X-ABRELATEDNAMES", "manager"),
    ("X-EVOLUTION-SPOUSE", "X-ABRELATEDNAMES", "spouse"),
];

/// Names under which a group's members are kept in vCard 3.0, and in 4.0.
const MEMBERS: &[&str] = &["X-ADDRESSBOOKSERVER-MEMBER", "MEMBER"];
const KINDS: &[&str] = &["X-ADDRESSBOOKSERVER-KIND", "KIND"];
/// The properties of a contact list.
const LIST: &str = "X-EVOLUTION-LIST";
const LIST_PROPERTIES: &[&str] = &[LIST, "X-EVOLUTION-LIST-SHOW-ADDRESSES"];
const DEST_UID: &str = "X-EVOLUTION-DEST-CONTACT-UID";

/// A contact that is a member of a group.
pub(super) struct Member {
    pub(super) uid: String,
    pub(super) name: String,
    pub(super) address: String,
}

/// Finds a contact by its UID; `None` if it has no e-mail address.
pub(super) type FindMember<'f> = &'f dyn Fn(&str) -> Option<Member>;

/// Writes the lines of one card, a vCard 3.0, in the desktop's words.
pub(super) struct DesktopWords<'t> {
    text: &'t str,
    /// The desktop's properties that are set, those of [`RENAMED`].
    taken: HashSet<&'static str>,
    /// Names and values of the messaging services' own properties.
    messaging: Option<HashSet<(String, String)>>,
    /// Labels by group, both in lower case.
    labels: Option<HashMap<Vec<u8>, String>>,
}

impl<'t> DesktopWords<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            taken: HashSet::new(),
            messaging: None,
            labels: None,
        }
    }

    /// Returns the line in the desktop's words, without folds and line end; `None`: as it is.
    pub(super) fn line(&mut self, line: &ContentLine<'_>) -> Option<String> {
        // Most lines of most cards are none of these.
        if !matches!(
            line.name.first(),
            Some(b'I' | b'i' | b'R' | b'r' | b'X' | b'x' | b'A' | b'a')
        ) {
            return None;
        }
        if line.name_is("IMPP") {
            return self.messaging_line(line);
        }
        let name = self.plain_name(line)?;
        // The desktop knows one of each.
        let is_first = self.taken.insert(name) && !self.has(name);
        let dropped = ["TYPE", "VALUE"];
        is_first.then(|| {
            format!(
                "{}:{}",
                renamed_head(line, name, &dropped),
                property_value(line)
            )
        })
    }

    fn plain_name(&mut self, line: &ContentLine<'_>) -> Option<&'static str> {
        let renamed = RENAMED
            .iter()
            .find(|(_, names)| names.iter().any(|name| line.name_is(name)));
        if let Some((name, _)) = renamed {
            return Some(name);
        }
        if line.name_is("RELATED") {
            let types = param_value(line, "TYPE")?;
            let is_spouse = types
                .split(',')
                .any(|one| one.trim_matches('"').eq_ignore_ascii_case("spouse"));
            let value = property_value(line);
            let is_text = param_value(line, "VALUE")
                .is_some_and(|kind| kind.eq_ignore_ascii_case("text"))
                || !value.contains(':');
            return (is_spouse && is_text).then_some("X-EVOLUTION-SPOUSE");
        }
        let group = line.group?.to_ascii_lowercase();
        let label = self.labels().get(&group)?.clone();
        let of_label = LABELLED
            .iter()
            .find(|(_, property, of)| line.name_is(property) && *of == label);
        of_label.map(|(name, ..)| *name)
    }

    fn messaging_line(&mut self, line: &ContentLine<'_>) -> Option<String> {
        let value = property_value(line);
        let (scheme, user) = value.split_once(':')?;
        let service = param_value(line, "X-SERVICE-TYPE");
        // Apple writes ICQ and others with the scheme of AIM.
        let by_type = SERVICES.iter().find(|(.., of)| {
            service
                .as_deref()
                .is_some_and(|service| of.eq_ignore_ascii_case(service.trim()))
        });
        let by_scheme = || {
            SERVICES
                .iter()
                .find(|(_, schemes, _)| is_one_of(schemes, scheme.trim()))
        };
        let (name, ..) = by_type.or_else(by_scheme)?;
        let user = percent_decode_str(user.split('?').next().unwrap_or(user)).decode_utf8_lossy();
        let user = user.trim_start_matches('/').to_owned();
        if user.is_empty()
            || self
                .messaging()
                .contains(&((*name).to_owned(), user.clone()))
        {
            return None;
        }
        let head = renamed_head(line, name, &["X-SERVICE-TYPE", "VALUE", "PREF"]);
        Some(format!("{head}:{}", escape_text(&user, "\\,;", "\\n")))
    }

    fn has(&self, name: &str) -> bool {
        own_lines(self.text.as_bytes(), Some("VCARD")).any(|line| line.name_is(name))
    }

    fn messaging(&mut self) -> &HashSet<(String, String)> {
        self.messaging.get_or_insert_with(|| {
            let lines = own_lines(self.text.as_bytes(), Some("VCARD"));
            let known = lines.filter_map(|line| {
                let (name, ..) = SERVICES.iter().find(|(name, ..)| line.name_is(name))?;
                Some(((*name).to_owned(), unescape_text(&property_value(&line))))
            });
            known.collect()
        })
    }

    fn labels(&mut self) -> &HashMap<Vec<u8>, String> {
        self.labels.get_or_insert_with(|| {
            let lines = own_lines(self.text.as_bytes(), Some("VCARD"));
            let labels = lines
                .filter(|line| line.name_is("X-ABLABEL"))
                .filter_map(|line| {
                    let label = property_value(&line).to_lowercase();
                    let label = label.strip_prefix("_$!<").unwrap_or(&label);
                    let label = label.strip_suffix(">!$_").unwrap_or(label);
                    Some((line.group?.to_ascii_lowercase(), label.to_owned()))
                });
            labels.collect()
        })
    }
}

/// The head of a line under another name.
fn renamed_head(line: &ContentLine<'_>, name: &str, drop: &[&str]) -> String {
    let head = head_without(line, drop);
    let group = line.group.map_or(0, |group| group.len() + 1);
    let end = group + line.name.len();
    let group = head.get(..group).unwrap_or_default();
    let params = head.get(end..).unwrap_or_default();
    format!("{group}{name}{params}")
}

/// Returns a card, a vCard 3.0, in the desktop's words, without those of groups.
pub(super) fn in_desktop_words(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut words = DesktopWords::new(&text);
    // Most cards are as they are.
    let mut out: Option<String> = None;
    for line in ContentLines::of_text(&text) {
        match (words.line(&line), &mut out) {
            (Some(changed), _) => {
                let before = || text.get(..line.span.start).unwrap_or_default().to_owned();
                let out = out.get_or_insert_with(before);
                out.push_str(&changed);
                out.push_str("\r\n");
            }
            (None, Some(out)) => out.push_str(text.get(line.span.clone()).unwrap_or_default()),
            (None, None) => {}
        }
    }
    if GroupLines::of(&text).is_group {
        let out = out.get_or_insert_with(|| text.to_string());
        let end = out.rfind("END:VCARD").unwrap_or(out.len());
        out.insert_str(end, &format!("{LIST}:TRUE\r\n"));
    }
    match out {
        Some(out) => Cow::Owned(out),
        None => text,
    }
}

/// Returns true if a query for this property may be about another one of the stored card.
pub(super) fn is_desktop_word(name: &str) -> bool {
    LIST.eq_ignore_ascii_case(name)
        || SERVICES
            .iter()
            .any(|(known, ..)| known.eq_ignore_ascii_case(name))
        || RENAMED
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// The stored lines that a client got in the desktop's words.
pub(super) struct StoredWords {
    /// By what the client got; those that have not come back.
    lines: HashMap<Word, Vec<String>>,
    /// A stored line of each of the desktop's names.
    likes: HashMap<String, StoredLine>,
}

/// A line as it is compared: its name, its value, its types.
type Word = (String, String, Vec<String>);

struct StoredLine {
    head: String,
    /// The scheme and the service of IMPP.
    messaging: Option<(String, Option<String>)>,
}

impl StoredWords {
    /// Reads the stored card, a vCard 3.0.
    pub(super) fn of(stored: &str) -> Self {
        let mut words = DesktopWords::new(stored);
        let (mut lines, mut likes) = (HashMap::new(), HashMap::new());
        for line in own_lines(stored.as_bytes(), Some("VCARD")) {
            let Some(changed) = words.line(&line) else {
                continue;
            };
            let Some(word) = ContentLines::of_text(&changed)
                .next()
                .map(|line| word_of(&line))
            else {
                continue;
            };
            likes.entry(word.0.clone()).or_insert_with(|| {
                let value = property_value(&line);
                let scheme = value.split(':').next().unwrap_or_default().to_owned();
                let service = param_value(&line, "X-SERVICE-TYPE").map(Cow::into_owned);
                StoredLine {
                    head: head_without(&line, &[]),
                    messaging: line.name_is("IMPP").then_some((scheme, service)),
                }
            });
            let stored = String::from_utf8_lossy(line.raw()).into_owned();
            let of_word: &mut Vec<String> = lines.entry(word).or_default();
            of_word.push(stored);
        }
        // Taken from the end: in the order of the card.
        lines
            .values_mut()
            .for_each(|of_word: &mut Vec<String>| of_word.reverse());
        Self { lines, likes }
    }

    /// Returns the stored line of a client's line, with a line end, or one like it with another value; `None`: as
    /// the client wrote it.
    pub(super) fn line(&mut self, line: &ContentLine<'_>) -> Option<String> {
        if self.likes.is_empty() {
            return None;
        }
        let word = word_of(line);
        let like = self.likes.get(&word.0)?;
        if let Some(same) = self.lines.get_mut(&word).and_then(Vec::pop) {
            return Some(same);
        }
        let Some((scheme, service)) = &like.messaging else {
            return Some(format!("{}:{}\r\n", like.head, property_value(line)));
        };
        let mut head = renamed_head(line, "IMPP", &[]);
        if let Some(service) = service {
            head.push_str(&format!(";X-SERVICE-TYPE={service}"));
        }
        Some(format!(
            "{head}:{scheme}:{}\r\n",
            word.1.replace(' ', "%20")
        ))
    }
}

/// The name of a line in upper case, its value, its types in order and upper case.
fn word_of(line: &ContentLine<'_>) -> Word {
    let name = String::from_utf8_lossy(&line.unfolded_name()).to_ascii_uppercase();
    let value = unescape_text(&property_value(line));
    let params = line.unfolded_params();
    let mut types: Vec<String> = etui_contentline::lines::parse_params(&params)
        .filter(|param| param.name.eq_ignore_ascii_case(b"TYPE"))
        .filter_map(|param| param.value)
        .flat_map(|value| {
            let value = String::from_utf8_lossy(value).to_ascii_uppercase();
            let types = value.split(',').map(|one| one.trim_matches('"').to_owned());
            types.collect::<Vec<_>>()
        })
        .collect();
    types.sort_unstable();
    (name, value, types)
}

/// The group that a card is: KIND:group of vCard 4.0, or Apple's in 3.0.
pub(super) struct GroupLines {
    /// False for a card that is none, and for one that is a contact list of the desktop already.
    pub(super) is_group: bool,
    /// UIDs, and addresses as `mailto:` URIs.
    members: Vec<String>,
}

impl GroupLines {
    /// Reads the card.
    pub(super) fn of(text: &str) -> Self {
        let mut group = Self {
            is_group: false,
            members: Vec::new(),
        };
        // Most cards have no word of it.
        if memchr::memmem::find(text.as_bytes(), b"KIND").is_none() {
            return group;
        }
        let mut is_list = false;
        for line in own_lines(text.as_bytes(), Some("VCARD")) {
            if KINDS.iter().any(|name| line.name_is(name)) {
                group.is_group = property_value(&line).trim().eq_ignore_ascii_case("group");
            } else if let Some(member) = member_of(&line) {
                group.members.push(member);
            }
            is_list |= line.name_is(LIST);
        }
        group.is_group &= !is_list;
        group
    }

    /// Returns the lines that make it a contact list, with line ends: of members with an e-mail address.
    pub(super) fn list_lines(&self, find: FindMember<'_>) -> String {
        let mut out = String::new();
        if !self.is_group {
            return out;
        }
        for name in LIST_PROPERTIES {
            out.push_str(&format!("{name}:TRUE\r\n"));
        }
        let mut seen = HashSet::new();
        for member in self
            .members
            .iter()
            .filter(|member| seen.insert(member.as_str()))
        {
            if let Some(address) = member.strip_prefix("mailto:") {
                out.push_str(&format!(
                    "EMAIL;X-EVOLUTION-DEST-EMAIL={}:{}\r\n",
                    quoted(address),
                    escape_text(address, "\\,;", "\\n")
                ));
            } else if let Some(member) = find(member) {
                out.push_str(&format!(
                    "EMAIL;{DEST_UID}={};X-EVOLUTION-DEST-EMAIL-NUM=0;X-EVOLUTION-DEST-NAME={};\
                     X-EVOLUTION-DEST-EMAIL={};X-EVOLUTION-DEST-HTML-MAIL=FALSE:{}\r\n",
                    quoted(&member.uid),
                    quoted(&member.name),
                    quoted(&member.address),
                    escape_text(
                        &format!("{} <{}>", member.name, member.address),
                        "\\,;",
                        "\\n"
                    ),
                ));
            }
        }
        out
    }

    /// Returns which lines of a client's card are of the stored group, and what is to be added to it: members that
    /// the client took out are gone, those whose address it could not see stay.
    pub(super) fn edited(&self, text: &str, find: FindMember<'_>) -> EditedGroup {
        let mut edited = EditedGroup::default();
        if !self.is_group {
            return edited;
        }
        edited.is_group = true;
        let mut listed = HashSet::new();
        for line in own_lines(text.as_bytes(), Some("VCARD")).filter(|line| line.name_is("EMAIL")) {
            listed.extend(destination(&line));
        }
        for member in &self.members {
            let is_shown = member.starts_with("mailto:") || find(member).is_some();
            if is_shown && !listed.contains(member) {
                edited.removed.insert(member.clone());
            }
        }
        let known: HashSet<&String> = self.members.iter().collect();
        let mut added: Vec<&String> = listed.iter().filter(|one| !known.contains(one)).collect();
        added.sort_unstable();
        for member in added {
            let value = match member.starts_with("mailto:") {
                true => member.clone(),
                false => format!("urn:uuid:{member}"),
            };
            edited
                .added
                .push_str(&format!("X-ADDRESSBOOKSERVER-MEMBER:{value}\r\n"));
        }
        edited
    }
}

/// What a client changed in a group.
#[derive(Default)]
pub(super) struct EditedGroup {
    is_group: bool,
    removed: HashSet<String>,
    /// Lines to be added, with line ends.
    pub(super) added: String,
}

impl EditedGroup {
    /// Returns true for a line that the group is stored without.
    pub(super) fn drops(&self, line: &ContentLine<'_>) -> bool {
        self.is_group
            && (LIST_PROPERTIES.iter().any(|name| line.name_is(name))
                || (line.name_is("EMAIL") && destination(line).is_some())
                || member_of(line).is_some_and(|member| self.removed.contains(&member)))
    }
}

/// The member of a line: a UID, or a `mailto:` URI.
fn member_of(line: &ContentLine<'_>) -> Option<String> {
    if !MEMBERS.iter().any(|name| line.name_is(name)) {
        return None;
    }
    let value = property_value(line);
    let value = value.trim();
    let is_address = value
        .get(..7)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
    Some(match is_address {
        true => format!("mailto:{}", value.get(7..).unwrap_or_default()),
        false => strip_urn(value).to_owned(),
    })
}

/// A UID without the scheme that it has as a URI (RFC 6350, section 6.6.5).
fn strip_urn(uid: &str) -> &str {
    let (scheme, rest) = uid.split_at_checked(9).unwrap_or(("", uid));
    match scheme.eq_ignore_ascii_case("urn:uuid:") {
        true => rest,
        false => uid,
    }
}

/// The member that a contact list's EMAIL is.
fn destination(line: &ContentLine<'_>) -> Option<String> {
    if let Some(uid) = param_value(line, DEST_UID).filter(|uid| !uid.is_empty()) {
        return Some(strip_urn(&uid).to_owned());
    }
    let address = param_value(line, "X-EVOLUTION-DEST-EMAIL").map(Cow::into_owned);
    let value = unescape_text(&property_value(line));
    let inner = value
        .rsplit_once('<')
        .and_then(|(_, inner)| inner.split('>').next());
    let address = address.unwrap_or_else(|| inner.unwrap_or(&value).trim().to_owned());
    (!address.is_empty()).then(|| format!("mailto:{address}"))
}

/// A parameter's value, in quotes if it needs them.
fn quoted(value: &str) -> String {
    let plain = value.replace(['"', '\r', '\n'], " ");
    match plain.contains([',', ';', ':']) {
        true => format!("\"{plain}\""),
        false => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::super::incoming::IncomingCard;
    use super::super::outgoing::write_outgoing;
    use super::super::pictures::PictureCache;
    use super::*;

    fn member(uid: &str) -> Option<Member> {
        ["ann", "ben", "cle"].contains(&uid).then(|| Member {
            uid: format!("urn:uuid:{uid}"),
            name: uid.to_uppercase(),
            address: format!("{uid}@example.org"),
        })
    }

    /// A card as clients get it, and a function that returns what is stored of a client's edit.
    fn card(version: &str, body: &str) -> (String, impl Fn(String) -> String) {
        let stored = format!(
            "BEGIN:VCARD\r\nVERSION:{version}\r\nUID:u\r\nFN:A\r\nN:A;;;;\r\n{body}REV:1\r\nEND:VCARD\r\n"
        );
        let pictures = PictureCache::new("/nowhere".into());
        let sent = write_outgoing(stored.as_bytes(), String::new, &pictures, &member).text;
        let edit = move |text: String| {
            let card = IncomingCard::parse(text).unwrap();
            let pictures = PictureCache::new("/nowhere".into());
            let card = card.to_stored("u", None, Some(stored.as_bytes()), &pictures, &member);
            let text = String::from_utf8(card.unwrap().into_text()).unwrap();
            assert_eq!(text == stored, text.contains(body), "{text}");
            text.lines()
                .filter(|line| !line.starts_with("BEGIN") && !line.starts_with("END"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        (sent, edit)
    }

    #[test]
    fn properties_have_the_desktops_names_and_come_back() {
        for (version, stored, sent) in [
            (
                "4.0",
                "IMPP;TYPE=home:xmpp:ada@example.org\r\n",
                "X-JABBER;TYPE=home:ada@example.org\r\n",
            ),
            (
                "3.0",
                "item1.IMPP;X-SERVICE-TYPE=ICQ;type=WORK:aim:12345\r\n",
                "item1.X-ICQ;type=WORK:12345\r\n",
            ),
            ("3.0", "IMPP:skype:ada%2Eb?chat\r\n", "X-SKYPE:ada.b\r\n"),
            (
                "3.0",
                "IMPP;X-SERVICE-TYPE=Matrix:matrix:u/ada\r\n",
                "X-MATRIX:u/ada\r\n",
            ),
            (
                "4.0",
                "RELATED;TYPE=spouse;VALUE=text:William\\, Earl\r\n",
                "X-EVOLUTION-SPOUSE:William\\, Earl\r\n",
            ),
            (
                "3.0",
                "item2.X-ABRELATEDNAMES;type=pref:William\r\nitem2.X-ABLabel:_$!<Spouse>!$_\r\n",
                "item2.X-EVOLUTION-SPOUSE:William\r\n",
            ),
            (
                "3.0",
                "X-MS-MANAGER:Charles\r\n",
                "X-EVOLUTION-MANAGER:Charles\r\n",
            ),
            (
                "3.0",
                "X-KADDRESSBOOK-X-AssistantsName:Bob\r\n",
                "X-EVOLUTION-ASSISTANT:Bob\r\n",
            ),
            (
                "4.0",
                "ANNIVERSARY:18350708\r\n",
                "X-EVOLUTION-ANNIVERSARY:1835-07-08\r\n",
            ),
            (
                "3.0",
                "X-ANNIVERSARY:1835-07-08\r\n",
                "X-EVOLUTION-ANNIVERSARY:1835-07-08\r\n",
            ),
        ] {
            let (text, edit) = card(version, stored);
            assert!(text.contains(sent), "{text}");
            // The library of clients writes every line anew.
            let again = edit(text.replace("TYPE=home", "TYPE=\"HOME\""));
            assert!(
                again.contains(stored.trim_end().replace("\r\n", "\n").as_str()),
                "{again}"
            );
        }
    }

    #[test]
    fn changed_values_keep_their_property() {
        for (version, stored, change, expected) in [
            (
                "4.0",
                "IMPP;TYPE=home:xmpp:ada@x\r\n",
                ("ada@x", "eve@y"),
                "IMPP;TYPE=home:xmpp:eve@y",
            ),
            (
                "3.0",
                "IMPP;X-SERVICE-TYPE=ICQ:aim:1\r\n",
                ("X-ICQ:1", "X-ICQ;TYPE=HOME:2"),
                "IMPP;TYPE=HOME;X-SERVICE-TYPE=ICQ:aim:2",
            ),
            (
                "4.0",
                "RELATED;TYPE=spouse;VALUE=text:William\r\n",
                (":William", ":George"),
                "TYPE=spouse:George",
            ),
            (
                "3.0",
                "X-MS-MANAGER:Charles\r\n",
                (":Charles", ":Mary"),
                "X-MS-MANAGER:Mary",
            ),
        ] {
            let (text, edit) = card(version, stored);
            let edited = edit(text.replace(change.0, change.1));
            assert!(edited.contains(expected), "{edited}");
            assert!(!edited.contains(stored.trim_end()), "{edited}");
        }
        // Taken out, and another service put in.
        let (text, edit) = card("4.0", "IMPP:xmpp:ada@x\r\n");
        let edited = edit(text.replace("X-JABBER:ada@x", "X-SKYPE:ada"));
        assert!(
            !edited.contains("IMPP") && edited.contains("X-SKYPE:ada"),
            "{edited}"
        );
    }

    #[test]
    fn what_the_desktop_does_not_know_stays() {
        for body in [
            "IMPP:sip:ada@x\r\n",
            "RELATED;TYPE=spouse:urn:uuid:7\r\n",
            "RELATED;TYPE=friend;VALUE=text:Mary\r\n",
            // Written twice, by Apple's programs.
            "X-JABBER:ada@x\r\nIMPP;X-SERVICE-TYPE=Jabber:xmpp:ada@x\r\n",
            "X-EVOLUTION-SPOUSE:William\r\nX-SPOUSE:Bill\r\n",
            "item1.X-ABRELATEDNAMES:Byron\r\nitem1.X-ABLabel:_$!<Father>!$_\r\n",
        ] {
            let (text, edit) = card("3.0", body);
            assert!(text.contains(body), "{text}");
            edit(text);
        }
    }

    #[test]
    fn groups_are_contact_lists() {
        for (version, kind, name) in [
            ("4.0", "KIND:group\r\n", "MEMBER"),
            (
                "3.0",
                "X-ADDRESSBOOKSERVER-KIND:group\r\n",
                "X-ADDRESSBOOKSERVER-MEMBER",
            ),
        ] {
            let body = format!(
                "{kind}{name}:urn:uuid:ann\r\n{name}:urn:uuid:gone\r\n{name}:mailto:dan@x\r\n"
            );
            let (text, edit) = card(version, &body);
            assert!(text.contains("X-EVOLUTION-LIST:TRUE\r\n"), "{text}");
            assert_eq!(text.matches("\r\nEMAIL;").count(), 2, "{text}");
            assert!(
                text.contains("EMAIL;X-EVOLUTION-DEST-CONTACT-UID=\"urn:uuid:ann\";"),
                "{text}"
            );
            assert!(text.contains(":ANN <ann@example.org>\r\n"), "{text}");
            let same = edit(text.clone());
            assert!(
                !same.contains("EVOLUTION") && !same.contains("EMAIL"),
                "{same}"
            );

            // One is taken out, one put in, one typed.
            let lines = text
                .split_inclusive("\r\n")
                .filter(|line| !line.contains("dan@x"));
            let text: String = lines.collect();
            let new = "EMAIL;X-EVOLUTION-DEST-CONTACT-UID=ben;X-EVOLUTION-DEST-EMAIL=ben@example.org:BEN <ben@example.org>\r\n\
                       EMAIL;X-EVOLUTION-DEST-EMAIL=eve@y:eve@y\r\nEND:VCARD";
            let kept = edit(text.replace("END:VCARD", new));
            let members: Vec<&str> = kept.lines().filter(|line| line.starts_with(name)).collect();
            assert_eq!(members.len(), 4, "{kept}");
            for member in [
                "urn:uuid:ann",
                "urn:uuid:gone",
                "urn:uuid:ben",
                "mailto:eve@y",
            ] {
                assert!(
                    members.contains(&format!("{name}:{member}").as_str()),
                    "{kept}"
                );
            }
            assert!(!kept.contains("EMAIL"), "{kept}");
        }
        // An organisation, and a list that the desktop wrote.
        for body in [
            "KIND:org\r\n",
            "KIND:group\r\nX-EVOLUTION-LIST:TRUE\r\nEMAIL:a@b\r\n",
        ] {
            let (text, edit) = card("3.0", body);
            assert!(
                text.contains(body) && text.matches("EVOLUTION-LIST:").count() <= 1,
                "{text}"
            );
            edit(text);
        }
    }

    #[test]
    fn queries_see_the_desktops_words() {
        use super::super::query::ContactQuery;
        let text = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:u\r\nFN:A\r\nIMPP;TYPE=home:xmpp:ada@x\r\nKIND:group\r\n\
                    RELATED;TYPE=spouse;VALUE=text:William\r\nANNIVERSARY:18350708\r\nEND:VCARD\r\n";
        for query in [
            "(contains \"im_jabber\" \"ada\")",
            "(is \"im_jabber_home_1\" \"ada@x\")",
            "(is \"spouse\" \"william\")",
            "(exists \"anniversary\")",
            "(is \"list\" \"TRUE\")",
            "(contains \"x-evolution-any-field\" \"william\")",
        ] {
            let query = ContactQuery::parse(query).unwrap();
            let card = query.property_names().parse_card(text.as_bytes()).unwrap();
            assert!(query.matches("u", &card), "{query:?}");
        }
    }
}
