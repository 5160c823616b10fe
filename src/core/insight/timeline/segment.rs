//! Divides the events of a session into segments: by pauses and by length.

use super::event::Event;
use crate::core::log::MessageKind;

/// A longer pause than this, in milliseconds, starts a new segment.
const PAUSE: i64 = 30 * 60 * 1000;

/// The most tokens of a segment; an event with more is a segment of its own.
const MOST_TOKENS: usize = 4_000;

/// How much of a tool's result counts, in bytes.
const RESULT_BYTES: usize = 1_000;

/// The events before a segment that are its context: not older than this when it starts, in
/// milliseconds, and together of at most so many tokens.
const OVERLAP: (i64, usize) = (5 * 60 * 1000, 500);

/// Divides the events of a session, which it is shown one after the other.
#[derive(Debug, Default)]
pub struct Divider {
    /// The time of the last event, and the tokens of the segment so far.
    last: Option<(i64, usize)>,
}

impl Divider {
    /// Whether an event is the first of a segment.
    pub fn is_first(&mut self, event: &Event) -> bool {
        let tokens = tokens(event);
        let length = match self.last {
            Some((time, length))
                if event.time.saturating_sub(time) <= PAUSE && length + tokens <= MOST_TOKENS =>
            {
                length
            }
            _ => 0,
        };
        self.last = Some((event.time, length + tokens));
        length == 0
    }
}

/// Returns how many of the last events of a segment are the context of the next one, which begins
/// at `start`. They are part of neither its length nor its bounds.
pub fn overlap(before: &[Event], start: i64) -> usize {
    let (longest_ago, most) = OVERLAP;
    let mut length = 0;
    let is_context = |event: &&Event| {
        length += tokens(event);
        length <= most && start.saturating_sub(event.time) <= longest_ago
    };
    before.iter().rev().take_while(is_context).count()
}

/// Returns the length of an event in tokens, estimated from its bytes.
fn tokens(event: &Event) -> usize {
    let bytes = match event.kind {
        MessageKind::ToolResult => event.length().min(RESULT_BYTES),
        _ => event.length(),
    };
    (bytes / 4).max(1)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::core::log::Role;

    const MINUTE: i64 = 60_000;

    /// Times or lengths of events, and the bounds of their segments.
    type Row<T> = (&'static [T], &'static [(usize, usize)]);

    fn event(time: i64, kind: MessageKind, text: &str) -> Event {
        Event {
            time,
            kind,
            text: text.into(),
            ..Event::test(1, Role::User, "")
        }
    }

    /// Returns the events of each segment, and those that are its context, by their indices.
    fn bounds(events: &[Event]) -> Vec<(Range<usize>, Range<usize>)> {
        let mut divider = Divider::default();
        let is_first = |at: &usize| divider.is_first(&events[*at]);
        let starts: Vec<usize> = (0..events.len()).filter(is_first).collect();
        let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
        for (number, start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(events.len());
            let before = found.last().map_or(0..0, |(own, _)| own.clone());
            let context = overlap(&events[before], events[*start].time);
            found.push((*start..end, *start - context..*start));
        }
        found
    }

    #[test]
    fn a_pause_of_more_than_thirty_minutes_divides() {
        let table: &[Row<i64>] = &[
            (&[], &[]),
            (&[5], &[(0, 1)]),
            (&[0, 30 * MINUTE], &[(0, 2)]),
            (&[0, 30 * MINUTE + 1], &[(0, 1), (1, 2)]),
            // A clock that goes back divides nothing, and the pause after it counts from there.
            (&[100 * MINUTE, 0, 30 * MINUTE], &[(0, 3)]),
            (&[100 * MINUTE, 0, 31 * MINUTE], &[(0, 2), (2, 3)]),
            (&[i64::MAX, i64::MIN], &[(0, 2)]),
        ];
        for (times, wanted) in table {
            let events: Vec<Event> = times
                .iter()
                .map(|time| event(*time, MessageKind::Text, "a"))
                .collect();
            let found: Vec<(usize, usize)> = bounds(&events)
                .into_iter()
                .map(|(own, _)| (own.start, own.end))
                .collect();
            assert_eq!(found, *wanted, "{times:?}");
        }
    }

    #[test]
    fn more_than_four_thousand_tokens_divide_and_an_oversized_event_stands_alone() {
        let text = |tokens: usize| "x".repeat(4 * tokens);
        let table: &[Row<usize>] = &[
            (&[2_000, 2_000], &[(0, 2)]),
            (&[2_000, 2_001], &[(0, 1), (1, 2)]),
            (&[10, 9_000, 10], &[(0, 1), (1, 2), (2, 3)]),
            (&[9_000], &[(0, 1)]),
            (&[4_000, 1], &[(0, 1), (1, 2)]),
        ];
        for (lengths, wanted) in table {
            let texts: Vec<String> = lengths.iter().map(|length| text(*length)).collect();
            let events: Vec<Event> = texts
                .iter()
                .map(|text| event(0, MessageKind::Text, text))
                .collect();
            let found: Vec<(usize, usize)> = bounds(&events)
                .into_iter()
                .map(|(own, _)| (own.start, own.end))
                .collect();
            assert_eq!(found, *wanted, "{lengths:?}");
        }
    }

    #[test]
    fn a_result_counts_its_first_thousand_bytes() {
        let table = [
            (String::new(), 1),
            ("abc".to_owned(), 1),
            ("x".repeat(8), 2),
            ("x".repeat(1_000), 250),
            ("x".repeat(100_000), 250),
            // The thousandth byte is inside a character.
            (format!("{}{}", "x".repeat(998), "€€"), 250),
            (format!("{}{}", "x".repeat(997), "€€"), 250),
        ];
        for (text, wanted) in table {
            let result = event(0, MessageKind::ToolResult, &text);
            assert_eq!(tokens(&result), wanted, "{} bytes", text.len());
            let unread = Event {
                unread: text.len(),
                ..event(0, MessageKind::ToolResult, "")
            };
            assert_eq!(tokens(&unread), wanted, "{} bytes, not read", text.len());
        }
        let long = "x".repeat(100_000);
        assert_eq!(tokens(&event(0, MessageKind::Text, &long)), 25_000);
    }

    #[test]
    fn the_overlap_is_recent_short_and_counts_for_nothing() {
        let long = "x".repeat(4 * 3_900);
        let part = "x".repeat(4 * 300);
        let events = [
            event(0, MessageKind::Text, &long),
            event(MINUTE, MessageKind::Text, "a"),
            event(9 * MINUTE, MessageKind::Text, "b"),
            event(10 * MINUTE, MessageKind::Text, &part),
            event(11 * MINUTE, MessageKind::Text, &long),
        ];
        // `a` is too old. The overlap is not part of the second segment's length: with it, the
        // last event would not fit.
        assert_eq!(bounds(&events), [(0..3, 0..0), (3..4, 2..3), (4..5, 3..4)]);
        let events = [
            event(0, MessageKind::Text, "a"),
            event(60 * MINUTE, MessageKind::Text, "b"),
        ];
        assert_eq!(bounds(&events), [(0..1, 0..0), (1..2, 1..1)]);
    }
}
