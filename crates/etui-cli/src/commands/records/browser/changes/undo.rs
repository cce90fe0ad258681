//! The changes that were made in a browser, and how they are undone.

use etui::calendar::time::Date;
use etui::record::Save;
use etui::{Condition, ETag, Error, RecordId};
use etui_program::output::one_line;
use etui_program::{Failure, Result};

use super::{Outcome, RecordChanger};
use crate::commands::records::browser::dialog::Dialogs;
use crate::commands::records::browser::kind::BrowserRecord;

/// Changes that can be undone; older ones are forgotten.
const MAX_UNDO: usize = 1_000;

/// A change that can be undone.
pub struct UndoStep {
    collection: usize,
    uid: String,
    title: String,
    kind: StepKind,
    /// The day that is shown when it is undone: that from which a record was moved.
    pub(super) day: Option<Date>,
}

/// The kind of a change.
pub enum StepKind {
    /// A record was added with this ETag.
    Added(ETag),
    /// A record with this text got this ETag.
    Changed(Vec<u8>, ETag),
    Removed,
}

impl<R: BrowserRecord> RecordChanger<R> {
    pub(super) fn remember(&mut self, collection: usize, uid: &str, title: &str, kind: StepKind) {
        if self.steps.len() == MAX_UNDO {
            self.steps.remove(0);
        }
        self.steps.push(UndoStep {
            collection,
            uid: uid.to_owned(),
            title: one_line(title).into_owned(),
            kind,
            day: None,
        });
    }

    /// Undoes the last change, unless the record was changed since by another program.
    pub(super) fn undo(&mut self, dialogs: &mut Dialogs) -> Result<Outcome> {
        let Some(step) = self.steps.pop() else {
            dialogs.set_message("Nothing was changed here that could be undone.");
            return Ok(Outcome::default());
        };
        match self.undo_step(&step) {
            Ok(outcome) => {
                dialogs.set_message(format!("Undone: {}", step.title));
                Ok(outcome)
            }
            Err(Failure::Library(Error::Conflict { .. })) => Err(Failure::Conflict(format!(
                "{} was changed since by another program; its change was not undone",
                step.title
            ))),
            Err(failure) => {
                self.steps.push(step);
                Err(failure)
            }
        }
    }

    fn undo_step(&self, step: &UndoStep) -> Result<Outcome> {
        let all = self.collection(step.collection)?;
        let id = match &step.kind {
            StepKind::Added(etag) => {
                all.remove((&step.uid, Condition::IfMatch(*etag)))?;
                return Ok(Outcome::default());
            }
            StepKind::Removed => all.restore(&step.uid)?.id,
            StepKind::Changed(before, etag) => {
                let now = all.get(&step.uid)?;
                let id = now.as_ref().map_or(RecordId(0), |now| now.id);
                match R::parse_text(before.clone(), Some((all, id))) {
                    Ok(old) => {
                        // A record without a UID stays the one that it was.
                        let uid = Some(step.uid.as_str());
                        let condition = Condition::IfMatch(*etag);
                        let record = &old;
                        all.save(Save {
                            record,
                            condition,
                            uid,
                        })?
                        .id
                    }
                    // A text that cannot be parsed is the version before.
                    Err(_) if now.is_some_and(|now| now.etag == *etag) => {
                        all.restore(&step.uid)?.id
                    }
                    Err(failure) => return Err(failure),
                }
            }
        };
        Ok(Outcome {
            changed: Some((step.collection, id)),
            day: step.day,
            ..Outcome::default()
        })
    }
}
