//! Reports of panics in worker threads and while drawing: displayed to the user and logged to a
//! file.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use super::Clock;
use crate::core::disk::fault::FaultLog;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PanicReport {
    /// The name of the thread.
    pub(crate) thread: String,
    message: String,
    /// The file and line of the source.
    place: String,
    /// The path of the fault log, if the report could be written to it.
    log: Option<String>,
}

impl PanicReport {
    fn of(info: &PanicHookInfo<'_>) -> Self {
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .map(|message| (*message).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        let place = info.location().map(|place| place.to_string());
        let thread = std::thread::current();
        Self {
            thread: thread.name().unwrap_or("unnamed").to_owned(),
            message: message.unwrap_or_else(|| "no message".to_owned()),
            place: place.unwrap_or_else(|| "an unknown place".to_owned()),
            log: None,
        }
    }
}

#[cfg(test)]
impl PanicReport {
    pub(crate) fn example(thread: &str) -> Self {
        Self {
            thread: thread.to_owned(),
            message: "it broke".to_owned(),
            place: "src/x.rs:1:2".to_owned(),
            log: None,
        }
    }
}

impl fmt::Display for PanicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            thread,
            message,
            place,
            log,
        } = self;
        write!(f, "internal error: {message} ({place}, {thread})")?;
        match log {
            Some(log) => write!(f, "; it is in {log}"),
            None => Ok(()),
        }
    }
}

/// Whether this thread is drawing a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    No,
    Yes,
    /// The frame before panicked and was reported: to report this one would draw without end.
    Again,
}

thread_local! {
    static DRAWING: Cell<Drawing> = const { Cell::new(Drawing::No) };
}

/// Whether this thread is drawing.
pub(crate) fn drawing() -> Drawing {
    DRAWING.get()
}

/// Draws a frame; returns whether that succeeded. `was_broken` is whether the frame before did not.
pub(crate) fn draw_guarded(was_broken: bool, draw: impl FnOnce()) -> bool {
    DRAWING.set(if was_broken {
        Drawing::Again
    } else {
        Drawing::Yes
    });
    let drawn = catch_unwind(AssertUnwindSafe(draw));
    DRAWING.set(Drawing::No);
    drawn.is_ok()
}

/// Returns a handler for panics of threads other than the UI's, and while a frame is drawn: it logs
/// them and reports them.
pub(crate) fn reporter(
    log: FaultLog,
    clock: Clock,
    tell: impl Fn(PanicReport) + Send + Sync + 'static,
) -> impl Fn(&PanicHookInfo<'_>) + Send + Sync + 'static {
    move |info| {
        let mut report = PanicReport::of(info);
        let version = env!("CARGO_PKG_VERSION");
        let line = format!("{} tome {version} {report}", clock().time);
        // The panic is reported even if it cannot be logged.
        if log.add(&line).is_ok() {
            report.log = Some(log.path().display().to_string());
        }
        tell(report);
    }
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::sync::mpsc;

    use super::*;
    use crate::core::text::time::Moment;

    fn epoch() -> Moment {
        Moment {
            time: jiff::Timestamp::UNIX_EPOCH,
            today: jiff::civil::date(1970, 1, 1),
        }
    }

    #[test]
    fn message_and_place_of_a_panic_reach_the_events_and_the_log() {
        const THREAD: &str = "a thread that panics";
        let temp = tempfile::tempdir().expect("a temporary directory");
        let (events, told) = mpsc::channel();
        let log = FaultLog::new(&temp.path().join("data/errors.log"));
        let report = reporter(log, epoch, move |report| drop(events.send(report)));
        // Panics of concurrent tests go to the previous hook.
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| match std::thread::current().name() {
            Some(THREAD) => report(info),
            _ => before(info),
        }));
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let thread = thread.spawn(|| panic!("index {} is out of range", 7));
        assert!(thread.expect("starts").join().is_err());
        let Ok(report) = told.try_recv() else {
            panic!("nothing was told");
        };
        let text = report.to_string();
        assert!(text.contains("index 7 is out of range"), "{text}");
        assert!(text.contains(file!()) && text.contains(THREAD), "{text}");
        let path = temp.path().join("data/errors.log");
        assert!(
            text.ends_with(&format!("it is in {}", path.display())),
            "{text}"
        );
        let logged = std::fs::read_to_string(&path).expect("written");
        assert!(logged.starts_with("1970-01-01T00:00:00Z tome "), "{logged}");
        assert!(logged.contains("index 7 is out of range"), "{logged}");
    }
}
