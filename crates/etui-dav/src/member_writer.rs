//! [`MemberWriter`]: resources of a collection in a multistatus answer.

use std::io;

use etui::RecordId;
use etui::record::Reader;
use etui::resource::StoredResource;

use crate::context::{Context, FoundCollection};
use crate::data::DataForm;
use crate::failure::{Result, refusal_of_query};
use crate::kind::DavKind;
use crate::multistatus::Multistatus;
use crate::path::resource_href;
use crate::property::{MEMBER_NAMES, Member, MemberValues, Name, Wanted};
use crate::xml::Namespace;

/// Writes resources of one collection with the properties that a request wants.
pub(crate) struct MemberWriter<'a, R> {
    names: Vec<Name>,
    only_names: bool,
    values: MemberValues<'a>,
    form: Option<DataForm>,
    found: &'a FoundCollection<'a, R>,
}

impl<'a, R: DavKind> MemberWriter<'a, R> {
    /// `form` is the form of `calendar-data` or `address-data`; `None`: the request has none.
    pub(crate) fn new(
        context: &Context<'a>,
        found: &'a FoundCollection<'a, R>,
        wanted: &Wanted,
        form: Option<DataForm>,
    ) -> Self {
        let (all, in_all) = MEMBER_NAMES;
        let all = all.iter().map(|name| Name::new(Namespace::Dav, *name));
        let names = wanted.names((all.collect(), in_all));
        let data_attributes = form.as_ref().map(DataForm::attributes).unwrap_or_default();
        Self {
            names,
            only_names: matches!(wanted, Wanted::Names),
            values: MemberValues {
                session: context.session,
                may_write: found.may_write,
                owner_root: found.shared.as_ref().map(|shared| shared.owner_root),
                data_attributes,
            },
            form,
            found,
        }
    }

    /// Writes the resources of these records, which are live; returns the number of those that there are for the
    /// user.
    pub(crate) fn write_records(
        &self,
        answer: &mut Multistatus<'_>,
        reader: &Reader<R>,
        ids: &[RecordId],
    ) -> Result<u64> {
        let mut count = 0;
        let collection = &self.found.href;
        if !self.needs_bytes() {
            for (name, tag) in reader.resource_names(ids)?.into_iter().flatten() {
                count += 1;
                let member = Member::listed(tag, None);
                self.write(answer, &resource_href(collection, &name), &member)?;
            }
            return Ok(count);
        }
        visit(|steps| {
            reader.resources(ids.iter().copied(), |_, stored| {
                let Some(stored) = stored.and_then(|stored| self.found.seen(stored)) else {
                    return Ok(());
                };
                count += 1;
                let href = resource_href(collection, &stored.name);
                steps.take(self.write_stored(answer, &href, &stored))
            })
        })?;
        Ok(count)
    }

    /// Returns true if the bytes of resources are needed.
    fn needs_bytes(&self) -> bool {
        self.form.is_some()
            // What the user may read depends on the text.
            || self.found.shared.is_some()
            || self
                .names
                .iter()
                .any(|name| name.ns == Namespace::Dav && name.local == "getcontentlength")
    }

    /// Writes a resource.
    pub(crate) fn write(
        &self,
        answer: &mut Multistatus<'_>,
        href: &str,
        member: &Member<'_>,
    ) -> io::Result<()> {
        if self.only_names {
            return answer.names(href, &self.names);
        }
        let all = self.names.iter();
        answer.properties(
            href,
            all.map(|name| (name, self.values.value::<R>(member, name))),
        )
    }

    /// Writes a resource whose bytes were read, as the user may read it ([`FoundCollection::seen`]).
    pub(crate) fn write_stored(
        &self,
        answer: &mut Multistatus<'_>,
        href: &str,
        stored: &StoredResource,
    ) -> io::Result<()> {
        let data = match &self.form {
            None => None,
            Some(form) => match form.apply(&stored.bytes) {
                Ok(data) => Some(data),
                // One that cannot be given in this form does not end the answer.
                Err(error) => return answer.status(href, &refusal_of_query(&error)),
            },
        };
        let member = Member {
            tag: stored.tag,
            size: None,
            bytes: Some(&stored.bytes),
            data,
        };
        self.write(answer, href, &member)
    }
}

/// The steps of a visit of the store. Each writes to an answer.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    failed: Option<io::Error>,
}

impl Steps {
    /// Takes the result of a step: an error is kept, and another one ends the visit.
    pub(crate) fn take(&mut self, result: io::Result<()>) -> etui::Result<()> {
        result.map_err(|error| {
            self.failed = Some(error);
            etui::Error::Stopped
        })
    }
}

/// Runs a visit of the store; returns the error of a step, else that of the store.
pub(crate) fn visit(run: impl FnOnce(&mut Steps) -> etui::Result<()>) -> Result<()> {
    let mut steps = Steps::default();
    let visited = run(&mut steps);
    match steps.failed {
        Some(error) => Err(error.into()),
        None => Ok(visited?),
    }
}
