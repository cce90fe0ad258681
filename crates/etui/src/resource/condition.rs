//! [`ResourceCondition`]: the precondition of a write (RFC 9110 section 13.1).

use crate::error::{Error, Result};
use crate::resource_tag::ResourceTag;

/// The precondition of a write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ResourceCondition {
    /// None.
    #[default]
    Always,
    /// The resource exists and has one of these tags (`If-Match`).
    IfMatch(Vec<ResourceTag>),
    /// The resource exists (`If-Match: *`).
    IfExists,
    /// There is no resource of the name (`If-None-Match: *`).
    IfAbsent,
    /// The resource has none of these tags, or does not exist (`If-None-Match`).
    IfNoneMatch(Vec<ResourceTag>),
}

impl ResourceCondition {
    /// Returns true if it holds for a resource with this tag; `None`: there is no resource.
    #[must_use]
    pub fn holds(&self, found: Option<ResourceTag>) -> bool {
        match self {
            Self::Always => true,
            Self::IfMatch(tags) => found.is_some_and(|found| tags.contains(&found)),
            Self::IfExists => found.is_some(),
            Self::IfAbsent => found.is_none(),
            Self::IfNoneMatch(tags) => found.is_none_or(|found| !tags.contains(&found)),
        }
    }

    /// Fails if it does not hold for the resource of this name.
    pub(super) fn check(&self, name: &str, found: Option<ResourceTag>) -> Result<()> {
        match self.holds(found) {
            true => Ok(()),
            false => Err(Error::ConditionFailed {
                name: name.to_owned(),
                found,
            }),
        }
    }
}
