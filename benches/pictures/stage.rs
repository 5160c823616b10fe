//! Builds the program and runs it in a pseudo-terminal, on the unpacked sample.

#[allow(dead_code)] // some of it is for the tests
#[path = "../../tests/it/tui/tty.rs"]
mod tty;

use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use portable_pty::CommandBuilder;
use tome::core::memory::demo::{Demo, unpack};
use tome::core::text::time::Moment;

pub(crate) use self::tty::Size;
use self::tty::Tty;
use crate::Result;

/// The running program.
pub(crate) struct TerminalSession {
    tty: Tty,
    /// The unpacked sample.
    pub(crate) demo: Demo,
}

impl Deref for TerminalSession {
    type Target = Tty;

    fn deref(&self) -> &Tty {
        &self.tty
    }
}

impl TerminalSession {
    /// Starts the program on the sample, in a terminal with this `COLORFGBG` and size, after
    /// something was done with the sample.
    pub(crate) fn open(
        program: &Path,
        colours: &str,
        size: Size,
        prepare: impl FnOnce(&Demo) -> Result<()>,
    ) -> Result<Self> {
        let demo = unpacked()?;
        prepare(&demo)?;
        let mut command = CommandBuilder::new(program);
        command.cwd(&demo.project);
        command.env_clear();
        command.env("HOME", &demo.home);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("COLORFGBG", colours);
        command.env("TZ", "UTC");
        let tty = Tty::start(command, size);
        Ok(Self { tty, demo })
    }

    /// The resident memory of the program in KB, where the system tells it.
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// Changes a file in the sample's home directory while the program runs, as an agent would.
    pub(crate) fn change(&self, path: &str, how: impl Fn(&str) -> String) {
        let path = self.demo.home.join(path);
        let before = fs::read_to_string(&path).expect("a file of the sample");
        let after = how(&before);
        assert_ne!(before, after, "{}: nothing was changed", path.display());
        fs::write(&path, after).expect("it can be written");
    }

    /// Ends the program, and removes the sample.
    pub(crate) fn leave(mut self) -> Result<()> {
        self.tty.kill();
        Ok(fs::remove_dir_all(root())?)
    }
}

/// Returns the folder of the sample.
fn root() -> PathBuf {
    std::env::temp_dir().join("tome-pictures")
}

/// Unpacks the sample after removing an earlier one.
fn unpacked() -> Result<Demo> {
    match fs::remove_dir_all(root()) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
        _ => {}
    }
    fs::create_dir(root())?;
    let now = jiff::Zoned::now();
    let moment = Moment {
        time: now.timestamp(),
        today: now.date(),
    };
    Ok(unpack(&root(), &moment)?)
}

/// Builds the program beside the example of this name, and returns its path.
pub(crate) fn built(example: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).ok_or("no folder of programs")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // With the example, so that shared dependencies have the same features and are not rebuilt.
    cargo.args(["build", "--quiet", "--bin", "tome", "--example", example]);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    let program = folder.join(format!("tome{}", std::env::consts::EXE_SUFFIX));
    if built.success() && program.is_file() {
        Ok(program)
    } else {
        Err(format!("{}: the program could not be built", program.display()).into())
    }
}
