//! The desk that reads whole conversations, so that a long one keeps nothing else waiting.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::desk::Clerk;
use crate::core::log::{LogFile, read};
use crate::tui::event::Event;

/// Who reads logs.
pub(crate) struct Scribe {
    pub(crate) events: Sender<Event>,
}

impl Clerk for Scribe {
    type Job = LogFile;

    fn perform(&mut self, file: LogFile) {
        let result = read(&file).map(Arc::new);
        drop(self.events.send(Event::Opened { file, result }));
    }

    fn outdates(_: &LogFile, _: &LogFile) -> bool {
        true
    }

    fn events(&self) -> &Sender<Event> {
        &self.events
    }
}
