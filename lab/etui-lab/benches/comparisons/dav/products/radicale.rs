//! Radicale: files in a directory for each collection, written by the laboratory, and a cache that it fills at
//! its first listing.

use std::path::Path;
use std::time::Instant;

use super::super::requests;
use super::{
    DavServer, ResourceKind, USER, Workload, free_address, make_dirs, send_wanted, time_left,
    tool_command, write_file, write_resources,
};
use etui_lab::Error;

pub(super) const PROGRAM: &str = "radicale";
pub(super) const REMEDY: &str =
    "`pip install radicale`, in an environment whose programs are in PATH";

const BOOK: &str = "book";
const CALENDAR: &str = "calendar";

pub(super) fn start(dir: &Path) -> Result<DavServer, Error> {
    let address = free_address()?;
    let config = dir.join("config");
    let text = format!(
        "[server]\nhosts = {address}\n[auth]\ntype = none\n[rights]\ntype = owner_only\n\
         [storage]\nfilesystem_folder = {}\n[logging]\nlevel = warning\n",
        dir.join("data").display()
    );
    write_file(&config, &text)?;
    let mut command = tool_command(PROGRAM)?;
    command.arg("--config").arg(&config);
    let server = DavServer::start(&mut command, address, dir)?;
    let path = |name| format!("/{USER}/{name}/");
    Ok(server.with_collections(&path(BOOK), &path(CALENDAR)))
}

pub(super) fn fill(dir: &Path, workload: &Workload, until: Instant) -> Result<(), Error> {
    let root = dir.join("data/collection-root").join(USER);
    let collections = [
        (BOOK, ResourceKind::Contact, "VADDRESSBOOK"),
        (CALENDAR, ResourceKind::Event, "VCALENDAR"),
    ];
    for (name, kind, tag) in collections {
        let collection = root.join(name);
        make_dirs(&collection)?;
        let properties = format!("{{\"tag\": \"{tag}\"}}");
        write_file(&collection.join(".Radicale.props"), &properties)?;
        write_resources(&collection, workload, kind)?;
    }
    let mut server = start(dir)?;
    for kind in ResourceKind::BOTH {
        let mut client = server.client();
        client.set_timeout(time_left(until));
        send_wanted(&mut client, &requests::list(server.collection(kind)))?;
    }
    server.stop()
}
