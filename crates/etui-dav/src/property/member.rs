//! Properties of a resource: a contact or a calendar object.

use std::borrow::Cow;

use etui::resource::ResourceTag;

use super::tree::{common_value, privileges, reports};
use super::{Name, Value};
use crate::kind::DavKind;
use crate::path::principal_href;
use crate::session::Session;
use crate::xml::Namespace;

/// Names of the properties of a resource in `DAV:`; the first ones are those of `allprop`.
pub(crate) const MEMBER_NAMES: (&[&str], usize) = (
    &[
        "resourcetype",
        "getetag",
        "getcontenttype",
        "getcontentlength",
        "current-user-principal",
        "current-user-privilege-set",
        "owner",
        "principal-collection-set",
        "supported-report-set",
    ],
    4,
);

/// A resource, with the parts that were read.
pub(crate) struct Member<'m> {
    pub(crate) tag: ResourceTag,
    pub(crate) size: Option<u64>,
    /// Its bytes, if they were read.
    pub(crate) bytes: Option<&'m [u8]>,
    /// Its `calendar-data` or `address-data`, if the request wants it.
    pub(crate) data: Option<Cow<'m, str>>,
}

impl Member<'_> {
    /// Returns a resource whose bytes were not read.
    pub(crate) fn listed(tag: ResourceTag, size: Option<u64>) -> Self {
        Self {
            tag,
            size,
            bytes: None,
            data: None,
        }
    }
}

/// Returns the values of members of one collection.
pub(crate) struct MemberValues<'a> {
    pub(crate) session: Session<'a>,
    /// Whether the device may change them.
    pub(crate) may_write: bool,
    /// The root of their owner, if that is another person than the user.
    pub(crate) owner_root: Option<&'a str>,
    /// The attributes of the data's element, as the request has them.
    pub(crate) data_attributes: Vec<(&'static str, String)>,
}

impl MemberValues<'_> {
    pub(crate) fn value<'v, R: DavKind>(
        &self,
        member: &'v Member<'_>,
        name: &Name,
    ) -> Option<Value<'v>> {
        let (data_ns, data_name) = R::DATA;
        if name.ns == data_ns && name.local == data_name {
            let data = member.data.as_deref()?;
            return Some(Value::Data(data.into(), self.data_attributes.clone()));
        }
        if name.ns != Namespace::Dav {
            return None;
        }
        match name.local.as_str() {
            "resourcetype" => Some(Value::Empty),
            "getetag" => Some(Value::Text(quoted(&member.tag).into())),
            "getcontenttype" => Some(Value::Text(R::content_type(member.bytes))),
            "getcontentlength" => {
                let size = member.size.or(member.bytes.map(|bytes| bytes.len() as u64));
                size.map(|size| Value::Text(size.to_string().into()))
            }
            "current-user-privilege-set" => Some(privileges(match self.may_write {
                true => &[
                    "read",
                    "read-current-user-privilege-set",
                    "write",
                    "write-content",
                ],
                false => &["read", "read-current-user-privilege-set"],
            })),
            "supported-report-set" => Some(reports(&[])),
            "owner" if self.owner_root.is_some() => self
                .owner_root
                .map(|root| Value::href(principal_href(root))),
            _ => common_value(&self.session, name),
        }
    }
}

/// Returns the entity tag as headers and properties have it.
pub(crate) fn quoted(tag: &ResourceTag) -> String {
    format!("\"{tag}\"")
}
