//! `tome serve`: serves the timeline to programs of this machine, on gRPC.

use super::args::ServeArgs;
use super::print::Printer;
use super::world::World;
use super::{CommandResult, Failure};

#[cfg(not(feature = "grpc"))]
pub(super) fn run(_: &ServeArgs, _: &World, _: &mut Printer) -> CommandResult {
    Err(Failure::usage(
        "this tome was built without the gRPC server; `cargo install --path . --features grpc` builds one with it",
    ))
}

#[cfg(feature = "grpc")]
pub(super) use with_grpc::run;

#[cfg(feature = "grpc")]
mod with_grpc {
    use std::path::PathBuf;

    use serde_json::json;

    use super::super::Outcome;
    use super::super::world::now;
    use super::*;
    use crate::core::disk::private;
    use crate::core::memory::discover::{DiscoveryScope, events_root};
    use crate::core::memory::store::Store;
    use crate::core::{Error, Result};
    use crate::grpc::{Address, Listener, Projects, ServerSetup, TimelineSources, serve};

    pub(in super::super) fn run(
        args: &ServeArgs,
        world: &World,
        printer: &mut Printer,
    ) -> CommandResult {
        if !world.common.store.is_empty() {
            return Err(Failure::usage(
                "serve is about the current project, or with --all about every one; it takes no --store",
            ));
        }
        let address = match (&args.listen, &args.socket) {
            (Some(address), _) => Address::loopback(address)?,
            (None, Some(socket)) => Address::Socket(socket.clone()),
            (None, None) => Address::Socket(world.default_socket()?),
        };
        let listener = Listener::bind(&address)?;
        if printer.is_json() {
            printer.object(json!({ "listening": listener.name() }).into())?;
        } else {
            printer.line(&format!("listening on {}", listener.name()))?;
        }
        printer.flush()?;
        let setup = ServerSetup {
            sources: Box::new(world.clone()),
            projects: match world.scope() {
                DiscoveryScope::Project => Projects::Current,
                DiscoveryScope::Everything => Projects::All,
            },
            cwd: world.environment.cwd.clone(),
            data: world.environment.data.clone(),
            history: world.history.clone(),
            clock: now,
        };
        serve(setup, listener)?;
        Ok(Outcome::Done)
    }

    impl World {
        /// Returns the socket of the project, in a directory of the user's own that it creates.
        fn default_socket(&self) -> Result<PathBuf> {
            let folder = &self.runtime_dir;
            private::create_dir(folder).map_err(|e| Error::io(folder, e))?;
            let own = events_root(&self.environment.data, &self.environment.cwd);
            let name = match self.scope() {
                DiscoveryScope::Everything => "all".into(),
                DiscoveryScope::Project => own.file_name().unwrap_or_default().to_string_lossy(),
            };
            Ok(folder.join(format!("{name}.sock")))
        }
    }

    impl TimelineSources for World {
        fn stores(&self) -> Result<Vec<Store>> {
            let found = self.discovered().map_err(Failure::into_error)?;
            Ok(found.stores.into_iter().map(|found| found.store).collect())
        }
    }
}
