//! Signals, and programs that tome starts and must not outlive it.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Makes a write beyond the limit for the size of files an error like any other. By default the
/// system ends the program.
pub(crate) fn report_size_limits() {
    // Sound: no handler is installed, the signal is ignored.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Gives a program a group of its own, and makes the system end it when tome ends.
#[cfg(target_os = "linux")]
pub(in crate::core) fn end_with_this_process(command: &mut Command) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
    let ask = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // Sound: between fork and exec it makes one system call and allocates nothing.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(ask);
    }
}

/// Leaves the program in the group of tome, so that the signals of a terminal reach both.
#[cfg(not(target_os = "linux"))]
pub(in crate::core) fn end_with_this_process(_: &mut Command) {}

/// Ends a program that [`end_with_this_process`] was called for, and those that it started.
pub(in crate::core) fn end_group(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    let ended = if cfg!(target_os = "linux") {
        kill_process_group(pid, Signal::KILL)
    } else {
        kill_process(pid, Signal::KILL)
    };
    // It may have ended by itself.
    ended.unwrap_or_default();
}

/// Waits for a program until then, and ends it if it goes on: `None`.
pub(crate) fn wait_until(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    const PAUSE: Duration = Duration::from_millis(2);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            return child.wait().map(|_| None);
        }
        std::thread::sleep(PAUSE);
    }
}
