//! Changes of a collection's properties, which PROPPATCH, MKCOL and MKCALENDAR ask for.

use http::StatusCode;

use etui::calendar::InvalidColor;
use etui::store::CollectionChanges;

use super::collection::{COLOR, COMPONENT_SET, component_names};
use super::dead::{DeadValue, clark_name};
use super::{Name, expect_few};
use crate::failure::{Refusal, Result};
use crate::kind::{COMPONENTS, DavKind};
use crate::path::Home;
use crate::xml::{Element, Namespace};

/// The name of the property with the name of a collection.
const DISPLAY_NAME: (Namespace, &str) = (Namespace::Dav, "displayname");

/// Properties that the server computes.
const PROTECTED: &[(Namespace, &str)] = &[
    (Namespace::Dav, "resourcetype"),
    (Namespace::Dav, "getetag"),
    (Namespace::Dav, "getcontenttype"),
    (Namespace::Dav, "getcontentlength"),
    (Namespace::Dav, "getlastmodified"),
    (Namespace::Dav, "creationdate"),
    (Namespace::Dav, "supportedlock"),
    (Namespace::Dav, "lockdiscovery"),
    (Namespace::Dav, "sync-token"),
    (Namespace::Dav, "owner"),
    (Namespace::Dav, "acl"),
    (Namespace::Dav, "current-user-principal"),
    (Namespace::Dav, "current-user-privilege-set"),
    (Namespace::Dav, "principal-collection-set"),
    (Namespace::Dav, "principal-URL"),
    (Namespace::Dav, "quota-available-bytes"),
    (Namespace::Dav, "quota-used-bytes"),
    (Namespace::Dav, "supported-report-set"),
    (Namespace::CalDav, "calendar-home-set"),
    (Namespace::CalDav, "calendar-user-address-set"),
    (Namespace::CardDav, "addressbook-home-set"),
    (Namespace::CalendarServer, "getctag"),
    (Namespace::CalDav, "supported-calendar-data"),
    (Namespace::CalDav, "supported-collation-set"),
    (Namespace::CalDav, "max-resource-size"),
    (Namespace::CardDav, "supported-address-data"),
    (Namespace::CardDav, "supported-collation-set"),
    (Namespace::CardDav, "max-resource-size"),
];

/// A change of one property.
#[derive(Debug, Clone)]
pub(crate) struct PropertyChange {
    pub(crate) name: Name,
    /// The element to set; `None`: the property is removed.
    pub(crate) value: Option<Element>,
}

/// Returns the changes of the `set` and `remove` elements of a request, in their order.
pub(crate) fn changes_of(request: &Element) -> std::result::Result<Vec<PropertyChange>, Refusal> {
    let mut changes = Vec::new();
    for step in &request.children {
        let is_set = step.is(&Namespace::Dav, "set");
        if !is_set && !step.is(&Namespace::Dav, "remove") {
            continue;
        }
        for prop in step.children_named(&Namespace::Dav, "prop") {
            for element in &prop.children {
                changes.push(PropertyChange {
                    name: Name::of(element),
                    value: is_set.then(|| with_language(element, &[prop, step, request])),
                });
            }
        }
    }
    expect_few(changes.len())?;
    Ok(changes)
}

/// Returns an element with the language that one around it declares (RFC 4918 section 4.3).
fn with_language(element: &Element, around: &[&Element]) -> Element {
    let mut element = element.clone();
    element.tail.clear();
    if element.attribute("xml:lang").is_none()
        && let Some(language) = around.iter().find_map(|one| one.attribute("xml:lang"))
    {
        let language = language.to_owned();
        element.attributes.push(("xml:lang".to_owned(), language));
    }
    element
}

/// The result for each property; `None`: it is as the client wants it.
pub(crate) type ChangeResults = Vec<(Name, Option<Refusal>)>;

/// Parses changes, before any is made; the error has the refusal of each.
pub(crate) fn check<R: DavKind>(
    changes: &[PropertyChange],
    is_new: bool,
) -> std::result::Result<CollectionChanges, ChangeResults> {
    let mut checked = CollectionChanges::default();
    let mut results = ChangeResults::new();
    for change in changes {
        let refusal = parse::<R>(change, is_new, &mut checked).err();
        results.push((change.name.clone(), refusal));
    }
    match results.iter().any(|(_, refusal)| refusal.is_some()) {
        true => Err(failed_dependencies(results)),
        false => Ok(checked),
    }
}

/// Returns the results of changes that were made.
pub(crate) fn made(changes: &[PropertyChange]) -> ChangeResults {
    let all = changes.iter();
    all.map(|change| (change.name.clone(), None)).collect()
}

/// Returns the results of changes that the store refused as a whole, because of a name or of the size; else the
/// error.
pub(crate) fn refused(changes: &[PropertyChange], error: etui::Error) -> Result<ChangeResults> {
    let is_name = |name: &Name| is(name, &DISPLAY_NAME);
    let (refusal, is_cause): (_, &dyn Fn(&Name) -> bool) = match &error {
        etui::Error::CollectionExists { .. } | etui::Error::BadName { .. } => {
            (conflict(error.to_string()), &is_name)
        }
        etui::Error::TooManyProperties { .. } => (
            Refusal::new(StatusCode::INSUFFICIENT_STORAGE, error.to_string()),
            &|name| !is_name(name),
        ),
        _ => return Err(error.into()),
    };
    let all = changes.iter().map(|change| {
        let is_refused = is_cause(&change.name) && change.value.is_some();
        (change.name.clone(), is_refused.then(|| refusal.clone()))
    });
    Ok(failed_dependencies(all.collect()))
}

/// Marks the changes that were not made because of others (RFC 4918 section 11.4).
fn failed_dependencies(results: ChangeResults) -> ChangeResults {
    let dependency = || {
        let detail = "not changed, because another property could not be changed";
        Refusal::new(StatusCode::FAILED_DEPENDENCY, detail)
    };
    let all = results.into_iter();
    all.map(|(name, refusal)| (name, Some(refusal.unwrap_or_else(dependency))))
        .collect()
}

fn is(name: &Name, known: &(Namespace, &str)) -> bool {
    name.ns == known.0 && name.local == known.1
}

/// Adds a change to `changes`.
fn parse<R: DavKind>(
    change: &PropertyChange,
    is_new: bool,
    changes: &mut CollectionChanges,
) -> std::result::Result<(), Refusal> {
    let PropertyChange { name, value } = change;
    if PROTECTED.iter().any(|known| is(name, known)) {
        // The type of a new collection was looked at already.
        if is_new && is(name, &(Namespace::Dav, "resourcetype")) {
            return Ok(());
        }
        return Err(Refusal::forbidden("this property is computed")
            .with(Namespace::Dav, "cannot-modify-protected-property"));
    }
    let is_calendar = R::HOME == Home::Calendars;
    if is(name, &DISPLAY_NAME) {
        let text = value.as_ref().map_or("", |value| value.text.trim());
        if !text.is_empty() {
            changes.name = Some(text.to_owned());
        } else if !is_new {
            return Err(conflict("a collection has a name".to_owned()));
        }
        return Ok(());
    }
    if is_calendar && is(name, &COLOR) {
        let text = value.as_ref().map(|value| value.text.trim());
        let color = text.map(str::parse).transpose();
        changes.color = Some(
            color.map_err(|error: InvalidColor| conflict(format!("calendar-color: {error}")))?,
        );
        // The element comes back as it was set.
        keep(changes, name, value.as_ref().map(DeadValue::of));
        return Ok(());
    }
    if is_calendar && is(name, &COMPONENT_SET) {
        if !is_new {
            return Err(Refusal::forbidden("set when the calendar is made")
                .with(Namespace::Dav, "cannot-modify-protected-property"));
        }
        let names = value.as_ref().map(component_names).unwrap_or_default();
        let known = names
            .iter()
            .filter(|name| COMPONENTS.contains(&name.as_str()));
        if known.count() == 0 {
            let detail = "a calendar takes VEVENT, VTODO or VJOURNAL";
            return Err(
                Refusal::forbidden(detail).with(Namespace::CalDav, "supported-calendar-component")
            );
        }
    }
    if is_calendar && is(name, &(Namespace::CalDav, "calendar-timezone")) {
        let is_zone = |value: &Element| {
            let text = value.text.to_ascii_uppercase();
            text.contains("BEGIN:VTIMEZONE") && text.contains("END:VTIMEZONE")
        };
        if value.as_ref().is_some_and(|value| !is_zone(value)) {
            return Err(
                Refusal::forbidden("not a calendar object with one VTIMEZONE")
                    .with(Namespace::CalDav, "valid-calendar-data"),
            );
        }
    }
    keep(changes, name, value.as_ref().map(DeadValue::of));
    Ok(())
}

/// Adds the change of a kept property; the last one of a name counts.
fn keep(changes: &mut CollectionChanges, name: &Name, value: Option<String>) {
    let name = clark_name(name);
    changes.properties.retain(|(one, _)| *one != name);
    changes.properties.push((name, value));
}

fn conflict(detail: String) -> Refusal {
    Refusal::new(StatusCode::CONFLICT, detail)
}

#[cfg(test)]
mod tests {
    use super::super::collection::all_names;
    use super::*;

    /// A computed property that is not protected could be set, and would never be shown.
    #[test]
    fn what_the_server_computes_is_protected() {
        let settable = [DISPLAY_NAME, COLOR, COMPONENT_SET];
        for name in all_names().filter(|name| !settable.contains(name)) {
            assert!(PROTECTED.contains(&name), "{name:?}");
        }
    }
}
