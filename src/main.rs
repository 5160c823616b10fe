//! The `tome` program: see [`tome::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tome::cli::run()
}
