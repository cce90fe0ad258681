//! `etui eds serve`: the service itself; the bus starts it.

use std::time::Duration;

use etui_eds::server::{ServeError, ServeOptions, serve};
use etui_program::{App, Failure, Result, create_parent_dir};

use etui_program::services::eds::{EdsServeArgs, default_cache_dir};

pub fn serve_store(app: &mut App, args: &EdsServeArgs) -> Result<()> {
    etui::set_default_actor("Evolution Data Server");
    let store = app.store_path()?;
    let mut options = app.store_options();
    options.create = true;
    create_parent_dir(&store)?;
    let idle_exit = (args.idle_exit > 0).then(|| Duration::from_secs(args.idle_exit));
    let cache_dir = match &args.cache_dir {
        Some(dir) => dir.clone(),
        None => default_cache_dir()?,
    };
    serve(ServeOptions {
        store,
        options,
        replace: args.replace,
        idle_exit,
        cache_dir,
        only_if_on: args.if_on,
        pass_through: args.pass_through,
    })
    .map_err(|error| match error {
        ServeError::Store(error) => Failure::Library(error),
        other => Failure::Other(other.to_string()),
    })
}
