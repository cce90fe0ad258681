//! Which collections there are, and another one.

use super::Spoken;
use crate::app::App;
use crate::errors::Result;
use crate::output::{Table, count, one_line, quoted};

/// Makes a collection of this name.
pub fn create<R: Spoken>(app: &mut App, name: &str) -> Result<()> {
    let store = app.open_to_write()?;
    store.create_collection::<R>(name)?;
    store.close()?;
    if app.out.json {
        return app.out.object(&R::holder(name, 0));
    }
    app.out.say(format!(
        "Made {}: {} (use it with {} {})",
        R::KIND.one(),
        one_line(name),
        R::HOLDER_OPTION,
        quoted(name)
    ))
}

/// Lists the collections, with how many records each has.
pub fn list<R: Spoken>(app: &mut App) -> Result<()> {
    let store = app.open_to_read()?;
    let mut table = Table::new(R::HOLDER_HEADINGS);
    for name in store.collections::<R>()? {
        let records = store.collection::<R>(Some(&name))?.count()?;
        if app.out.json {
            app.out.object(&R::holder(&name, records))?;
        } else {
            table.row([count(records).as_str(), &name]);
        }
    }
    if app.out.json {
        return Ok(());
    }
    table.write(&mut app.out)
}
