//! Properties of the fixed part of the tree: root, principal and homes.

use super::{Name, Value, around, href_element};
use crate::failure::Result;
use crate::path::{Home, home_href, principal_href};
use crate::session::Session;
use crate::xml::{Element, Namespace};

/// Something with properties.
pub(crate) trait Node {
    /// Returns its href.
    fn href(&self) -> String;

    /// Returns the names of its properties. Those of `allprop` come first, with their number.
    fn names(&self) -> Result<(Vec<Name>, usize)>;

    /// Returns the value of a property; `None` if it does not have it.
    fn value(&self, name: &Name) -> Result<Option<Value<'_>>>;
}

/// The fixed part of the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TreeNode<'a> {
    /// `/` of the server.
    Server(Session<'a>),
    Root(Session<'a>),
    Principal(Session<'a>),
    Home(Session<'a>, Home),
}

/// Names of properties of WebDAV that every node of the tree has, those of `allprop` first.
const COMMON: &[&str] = &[
    "resourcetype",
    "displayname",
    "current-user-principal",
    "current-user-privilege-set",
    "owner",
    "principal-collection-set",
    "supported-report-set",
];

/// The number of names of [`COMMON`] in `allprop`.
const COMMON_IN_ALL: usize = 2;

/// Reports on any path.
const COMMON_REPORTS: &[(Namespace, &str)] = &[
    (Namespace::Dav, "expand-property"),
    (Namespace::Dav, "principal-match"),
    (Namespace::Dav, "principal-property-search"),
    (Namespace::Dav, "principal-search-property-set"),
];

impl<'a> TreeNode<'a> {
    fn session(&self) -> &Session<'a> {
        match self {
            Self::Server(session)
            | Self::Root(session)
            | Self::Principal(session)
            | Self::Home(session, _) => session,
        }
    }

    fn has_homes(&self) -> bool {
        !matches!(self, Self::Server(_))
    }
}

impl Node for TreeNode<'_> {
    fn href(&self) -> String {
        let root = self.session().root;
        match self {
            Self::Server(_) => "/".to_owned(),
            Self::Root(_) => root.to_owned(),
            Self::Principal(_) => principal_href(root),
            Self::Home(_, home) => home_href(root, *home),
        }
    }

    fn names(&self) -> Result<(Vec<Name>, usize)> {
        let mut names: Vec<Name> = COMMON
            .iter()
            .map(|name| Name::new(Namespace::Dav, *name))
            .collect();
        if self.has_homes() {
            names.push(Name::new(Namespace::CalDav, "calendar-home-set"));
            names.push(Name::new(Namespace::CardDav, "addressbook-home-set"));
        }
        if matches!(self, Self::Principal(_)) {
            names.push(Name::new(Namespace::CalDav, "calendar-user-address-set"));
            for name in ["principal-URL", "alternate-URI-set", "group-membership"] {
                names.push(Name::new(Namespace::Dav, name));
            }
        }
        Ok((names, COMMON_IN_ALL))
    }

    fn value(&self, name: &Name) -> Result<Option<Value<'_>>> {
        let session = self.session();
        if let Some(value) = common_value(session, name) {
            return Ok(Some(value));
        }
        let is_principal = matches!(self, Self::Principal(_));
        Ok(match (&name.ns, name.local.as_str()) {
            (Namespace::Dav, "resourcetype") => Some(match self {
                Self::Principal(_) => Value::Children(vec![
                    Element::new(Namespace::Dav, "collection"),
                    Element::new(Namespace::Dav, "principal"),
                ]),
                _ => Value::Children(vec![Element::new(Namespace::Dav, "collection")]),
            }),
            (Namespace::Dav, "displayname") => Some(Value::Text(
                match self {
                    Self::Server(_) | Self::Root(_) => "etui",
                    Self::Principal(_) => session.user,
                    Self::Home(_, Home::AddressBooks) => "Address books",
                    Self::Home(_, Home::Calendars) => "Calendars",
                }
                .into(),
            )),
            (Namespace::Dav, "current-user-privilege-set") => {
                // A device that sees some collections only creates none.
                let may_create =
                    session.may_write && session.sees.is_none() && matches!(self, Self::Home(..));
                Some(privileges(match may_create {
                    true => &["read", "read-current-user-privilege-set", "bind", "unbind"],
                    false => &["read", "read-current-user-privilege-set"],
                }))
            }
            (Namespace::Dav, "supported-report-set") => Some(reports(&[])),
            (Namespace::CalDav, "calendar-home-set") if self.has_homes() => {
                Some(Value::href(home_href(session.root, Home::Calendars)))
            }
            (Namespace::CardDav, "addressbook-home-set") if self.has_homes() => {
                Some(Value::href(home_href(session.root, Home::AddressBooks)))
            }
            (Namespace::CalDav, "calendar-user-address-set")
            | (Namespace::Dav, "principal-URL")
                if is_principal =>
            {
                Some(Value::href(principal_href(session.root)))
            }
            (Namespace::Dav, "alternate-URI-set" | "group-membership") if is_principal => {
                Some(Value::Empty)
            }
            _ => None,
        })
    }
}

/// Returns the properties that have one value everywhere.
pub(super) fn common_value(session: &Session<'_>, name: &Name) -> Option<Value<'static>> {
    match (&name.ns, name.local.as_str()) {
        (Namespace::Dav, "current-user-principal" | "owner") => {
            Some(Value::href(principal_href(session.root)))
        }
        (Namespace::Dav, "principal-collection-set") => {
            Some(Value::Children(vec![href_element(session.root)]))
        }
        _ => None,
    }
}

/// Returns a `current-user-privilege-set` (RFC 3744 section 5.4).
pub(super) fn privileges(names: &[&str]) -> Value<'static> {
    let all = names
        .iter()
        .map(|name| around("privilege", vec![Element::new(Namespace::Dav, *name)]));
    Value::Children(all.collect())
}

/// Returns a `supported-report-set` (RFC 3253 section 3.1.5).
pub(super) fn reports(further: &[(Namespace, &str)]) -> Value<'static> {
    let all = further.iter().chain(COMMON_REPORTS).map(|(ns, name)| {
        let report = around("report", vec![Element::new(ns.clone(), *name)]);
        around("supported-report", vec![report])
    });
    Value::Children(all.collect())
}
