//! Conditions of a request as the store checks them.

use etui::resource::{ResourceCondition, ResourceTag};

use crate::headers::{Conditions, EntityTag, TagList};

/// Returns the condition of a write (RFC 9110 section 13.2.2).
pub(crate) fn of_write(conditions: &Conditions) -> ResourceCondition {
    let never = || ResourceCondition::IfMatch(Vec::new());
    match (&conditions.if_match, &conditions.if_none_match) {
        (None, None) => ResourceCondition::Always,
        (None, Some(TagList::Any)) => ResourceCondition::IfAbsent,
        (None, Some(TagList::Tags(tags))) => ResourceCondition::IfNoneMatch(weak(tags)),
        // It is there, and it is not.
        (Some(_), Some(TagList::Any)) => never(),
        (Some(TagList::Any), None) => ResourceCondition::IfExists,
        (Some(TagList::Tags(tags)), None) => ResourceCondition::IfMatch(strong(tags)),
        (Some(TagList::Tags(tags)), Some(TagList::Tags(not))) => {
            let not = weak(not);
            let rest = strong(tags).into_iter().filter(|tag| !not.contains(tag));
            ResourceCondition::IfMatch(rest.collect())
        }
        // No client sends this; it is not checked by half.
        (Some(TagList::Any), Some(TagList::Tags(_))) => never(),
    }
}

/// Returns true if `If-Match` of a read fails.
pub(crate) fn is_failed(conditions: &Conditions, found: ResourceTag) -> bool {
    match &conditions.if_match {
        Some(TagList::Tags(tags)) => !strong(tags).contains(&found),
        _ => false,
    }
}

/// Returns true if the client has this version already.
pub(crate) fn is_known(conditions: &Conditions, found: ResourceTag) -> bool {
    match &conditions.if_none_match {
        None => false,
        Some(TagList::Any) => true,
        Some(TagList::Tags(tags)) => weak(tags).contains(&found),
    }
}

/// Returns the tags for a strong comparison (RFC 9110 section 8.8.3.2). A text that is no tag of the
/// store matches nothing.
fn strong(tags: &[EntityTag]) -> Vec<ResourceTag> {
    let strong = tags.iter().filter(|tag| !tag.is_weak);
    strong.filter_map(|tag| tag.opaque.parse().ok()).collect()
}

/// Returns the tags for a weak comparison.
fn weak(tags: &[EntityTag]) -> Vec<ResourceTag> {
    tags.iter()
        .filter_map(|tag| tag.opaque.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const A: &str = "00000000000000000000000000000001";
    const B: &str = "00000000000000000000000000000002";

    fn list(all: &[(&str, bool)]) -> Option<TagList> {
        let tags = all.iter().map(|(opaque, is_weak)| EntityTag {
            opaque: (*opaque).to_owned(),
            is_weak: *is_weak,
        });
        Some(TagList::Tags(tags.collect()))
    }

    fn condition(if_match: Option<TagList>, if_none_match: Option<TagList>) -> ResourceCondition {
        of_write(&Conditions {
            if_match,
            if_none_match,
        })
    }

    #[test]
    fn weak_and_foreign_tags_never_match() {
        let a: ResourceTag = A.parse().unwrap();
        assert_eq!(
            condition(list(&[(A, false), (B, true), ("other", false)]), None),
            ResourceCondition::IfMatch(vec![a])
        );
        assert_eq!(
            condition(None, list(&[(A, true)])),
            ResourceCondition::IfNoneMatch(vec![a])
        );
        assert_eq!(
            condition(list(&[]), None),
            ResourceCondition::IfMatch(Vec::new())
        );
    }

    #[test]
    fn both_conditions_hold_or_none() {
        assert_eq!(condition(None, None), ResourceCondition::Always);
        assert_eq!(
            condition(None, Some(TagList::Any)),
            ResourceCondition::IfAbsent
        );
        assert_eq!(
            condition(Some(TagList::Any), None),
            ResourceCondition::IfExists
        );
        assert_eq!(
            condition(list(&[(A, false)]), Some(TagList::Any)),
            ResourceCondition::IfMatch(Vec::new())
        );
        assert_eq!(
            condition(list(&[(A, false), (B, false)]), list(&[(A, false)])),
            ResourceCondition::IfMatch(vec![B.parse().unwrap()])
        );
    }
}
