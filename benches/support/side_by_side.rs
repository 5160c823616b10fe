//! What the comparisons of tome with other programs have in common.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The median time of so many runs; each gets its number.
pub(crate) fn median(runs: usize, mut run: impl FnMut(usize)) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|number| {
            let start = Instant::now();
            run(number);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

/// A call of git in a directory.
pub(crate) fn git_command(at: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
    command.args(["-c", "gc.auto=0"]);
    command.args(args).current_dir(at);
    command
}

pub(crate) fn git(at: &Path, args: &[&str]) {
    succeed(&mut git_command(at, args));
}

pub(crate) fn succeed(command: &mut Command) {
    let status = command
        .stdout(Stdio::null())
        .status()
        .expect("the program runs");
    assert!(status.success(), "{command:?}");
}

/// A memory with this number.
pub(crate) fn memory_text(n: usize, more: &str) -> String {
    let kind = ["user", "feedback", "project", "reference"][n % 4];
    let body = "A sentence about what was decided and why it was decided so. ".repeat(4 + n % 13);
    format!(
        "---\nname: Memory {n}\ndescription: what memory {n} is about\ntype: {kind}\nupdated: 2026-01-01\n---\n\n{body}{more}\n"
    )
}
