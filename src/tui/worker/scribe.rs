//! The desk that reads whole conversations, so that a long one keeps nothing else waiting.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::desk::Clerk;
use crate::core::log::{LogFile, read};
use crate::tui::effect::Asker;
use crate::tui::event::Event;

/// Who reads logs.
pub(crate) struct Scribe {
    pub(crate) events: Sender<Event>,
}

/// A log, and who wants to read it.
pub(crate) type Job = (LogFile, Asker);

impl Clerk for Scribe {
    type Job = Job;

    fn perform(&mut self, (file, _): Job) {
        let result = read(&file).map(Arc::new);
        drop(self.events.send(Event::Opened { file, result }));
    }

    fn outdates((_, newer): &Job, (_, older): &Job) -> bool {
        newer == older
    }

    fn events(&self) -> &Sender<Event> {
        &self.events
    }
}
