//! Properties of the targets of paths: names, values, and the selection of a request.
//!
//! What a client sets is kept without code of its own (`dead`). One that the server computes has its name and value in
//! `collection`, and is in `PROTECTED` of `change`. One with a meaning in the store follows `COLOR`: it is in
//! [`CollectionChanges`](etui::store::CollectionChanges).

pub(crate) mod change;
mod collection;
mod dead;
mod member;
mod tree;

use std::borrow::Cow;
use std::io;

use crate::failure::Refusal;
use crate::xml::{Element, Namespace, Writer};

pub(crate) use collection::{CollectionNode, parse_token, token_text};
pub(crate) use member::{MEMBER_NAMES, Member, MemberValues, quoted};
pub(crate) use tree::{Node, TreeNode};

/// The properties of one request.
const MAX_PROPERTIES: usize = 500;

/// Bytes of the names of the properties that a request wants, with their namespaces. They are in the answer for
/// each resource.
const MAX_NAME_BYTES: usize = 16 * 1024;

/// The name of a property.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) ns: Namespace,
    pub(crate) local: String,
}

impl Name {
    pub(crate) fn new(ns: Namespace, local: impl Into<String>) -> Self {
        let local = local.into();
        Self { ns, local }
    }

    pub(crate) fn of(element: &Element) -> Self {
        Self::new(element.ns.clone(), element.name.clone())
    }
}

/// The value of a property.
#[derive(Debug, Clone)]
pub(crate) enum Value<'v> {
    Empty,
    Text(Cow<'v, str>),
    /// A text with the attributes of its element.
    Data(Cow<'v, str>, Vec<(&'static str, String)>),
    /// Elements.
    Children(Vec<Element>),
    /// The element of the property with all that is in it.
    Whole(Element),
}

impl Value<'_> {
    pub(crate) fn href(href: impl Into<String>) -> Self {
        Self::Children(vec![href_element(href)])
    }

    /// Returns the hrefs in the value.
    pub(crate) fn hrefs(&self) -> Vec<&str> {
        match self {
            Self::Children(children) => children
                .iter()
                .filter(|child| child.is(&Namespace::Dav, "href"))
                .map(|child| child.text.as_str())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Writes the property.
    pub(crate) fn write(&self, w: &mut Writer<'_>, name: &Name) -> io::Result<()> {
        match self {
            Self::Empty => w.empty(&name.ns, &name.local),
            Self::Text(text) => w.leaf(&name.ns, &name.local, text),
            Self::Data(text, attributes) => {
                let attributes: Vec<(&str, &str)> = attributes
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect();
                w.open_with(&name.ns, &name.local, &attributes)?;
                w.text(text)?;
                w.close()
            }
            Self::Children(children) => {
                w.open(&name.ns, &name.local)?;
                for child in children {
                    w.element(child)?;
                }
                w.close()
            }
            Self::Whole(element) => w.element(element),
        }
    }
}

/// Returns a `DAV:href`.
pub(crate) fn href_element(href: impl Into<String>) -> Element {
    Element {
        text: href.into(),
        ..Element::new(Namespace::Dav, "href")
    }
}

/// Returns an element of `DAV:` around others.
pub(crate) fn around(name: &str, children: Vec<Element>) -> Element {
    Element {
        children,
        ..Element::new(Namespace::Dav, name)
    }
}

/// The properties that a request wants.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// These. The elements may say more, as `calendar-data` does.
    These(Vec<(Name, Element)>),
    /// `allprop`, with those of its `include`.
    All(Vec<(Name, Element)>),
    /// `propname`: the names of all, no values.
    Names,
}

impl Wanted {
    /// Reads the children of a `propfind` or of a report; without any of them all are wanted.
    pub(crate) fn of(request: &Element) -> Result<Self, Refusal> {
        if let Some(prop) = request.child(&Namespace::Dav, "prop") {
            return properties_of(prop).map(Self::These);
        }
        if request.child(&Namespace::Dav, "propname").is_some() {
            return Ok(Self::Names);
        }
        let include = request.child(&Namespace::Dav, "include");
        let include = include.map(properties_of).transpose()?;
        Ok(Self::All(include.unwrap_or_default()))
    }

    /// Reads the body of a PROPFIND; an empty one wants all (RFC 4918 section 9.1).
    pub(crate) fn of_propfind(body: Option<&Element>) -> Result<Self, Refusal> {
        match body {
            None => Ok(Self::All(Vec::new())),
            Some(root) if root.is(&Namespace::Dav, "propfind") => Self::of(root),
            Some(root) => Err(Refusal::bad_request(format!(
                "the body is {}, not DAV:propfind",
                root.name
            ))),
        }
    }

    /// Returns the names of the wanted properties. `all` has the names of those that there are, and the number of those
    /// that are in `allprop`, which come first.
    pub(crate) fn names(&self, (mut all, in_all): (Vec<Name>, usize)) -> Vec<Name> {
        match self {
            Self::These(these) => these.iter().map(|(name, _)| name.clone()).collect(),
            Self::All(include) => {
                all.truncate(in_all);
                for (name, _) in include {
                    if !all.contains(name) {
                        all.push(name.clone());
                    }
                }
                all
            }
            Self::Names => all,
        }
    }

    /// Returns the element of a property that is named in the request.
    pub(crate) fn named(&self, ns: &Namespace, local: &str) -> Option<&Element> {
        let (Self::These(all) | Self::All(all)) = self else {
            return None;
        };
        let found = all.iter().find(|(_, element)| element.is(ns, local));
        found.map(|(_, element)| element)
    }
}

/// Returns the properties in an element, each once.
fn properties_of(prop: &Element) -> Result<Vec<(Name, Element)>, Refusal> {
    expect_few(prop.children.len())?;
    let sizes = prop.children.iter();
    let size: usize = sizes.map(|one| one.name.len() + one.ns.uri().len()).sum();
    if size > MAX_NAME_BYTES {
        return Err(Refusal::bad_request(format!(
            "the names of properties have at most {MAX_NAME_BYTES} bytes together"
        )));
    }
    let mut seen = std::collections::HashSet::new();
    let all = prop.children.iter().filter_map(|child| {
        let name = Name::of(child);
        seen.insert(name.clone()).then(|| (name, child.clone()))
    });
    Ok(all.collect())
}

/// Fails if a request names more properties than any client does: each is in the answer for each resource.
pub(super) fn expect_few(properties: usize) -> Result<(), Refusal> {
    match properties <= MAX_PROPERTIES {
        true => Ok(()),
        false => Err(Refusal::bad_request(format!(
            "a request has at most {MAX_PROPERTIES} properties"
        ))),
    }
}
