//! Groups the messages of a conversation into turns.
//!
//! A turn starts with each prompt of the user, and when the speaker changes. The text, tool
//! calls and results of a reply are items of the agent's turn; each result is paired with
//! its call.

use super::{Message, MessageKind, Origin, Role};

/// Consecutive messages of one speaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The speaker.
    pub speaker: Speaker,
    /// The time of the first message that has one.
    pub time: Option<i64>,
    /// The line of the first message.
    pub line: u64,
    /// The items, in order.
    pub items: Vec<TurnItem>,
}

/// The speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    Person,
    /// The agent, including its reasoning and tools.
    Agent,
    /// The agent's program, before the first message of the user or the agent.
    Program,
}

/// A part of a turn; messages are given by their index in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnItem {
    /// Text.
    Text(usize),
    /// The model's reasoning.
    Thinking(usize),
    /// Text injected by the agent's program.
    Injected(usize),
    /// A note of the agent's program.
    Notice(usize),
    /// A tool call and its result; either may be missing.
    Tool {
        /// The call.
        call: Option<usize>,
        /// The result.
        result: Option<usize>,
    },
}

impl TurnItem {
    /// Returns the first message of the item.
    pub fn message(self) -> usize {
        match self {
            Self::Text(at) | Self::Thinking(at) | Self::Injected(at) | Self::Notice(at) => at,
            Self::Tool { call, result } => call.or(result).unwrap_or(0),
        }
    }
}

/// Groups the messages of a conversation into turns.
pub fn turns(messages: &[Message]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let speaker = speaker(message, turns.last());
        let is_new = turns.last().is_none_or(|turn| {
            turn.speaker != speaker || (speaker == Speaker::Person && is_said_by_person(message))
        });
        if is_new {
            turns.push(Turn {
                speaker,
                time: None,
                line: message.line,
                items: Vec::new(),
            });
        }
        if let Some(turn) = turns.last_mut() {
            turn.time = turn.time.or(message.time);
            take(turn, at, message);
        }
    }
    turns
}

/// Whether the user wrote the message; an image's placeholder does not count.
fn is_said_by_person(message: &Message) -> bool {
    message.role == Role::User
        && message.origin == Origin::Written
        && message.kind != MessageKind::Notice
}

/// Returns the speaker of a message; one of neither user nor agent joins the current turn.
fn speaker(message: &Message, turn: Option<&Turn>) -> Speaker {
    match (message.role, message.origin) {
        (Role::User, Origin::Written) => Speaker::Person,
        (Role::Assistant, _) | (Role::Tool, _) => Speaker::Agent,
        _ => turn.map_or(Speaker::Program, |turn| turn.speaker),
    }
}

fn take(turn: &mut Turn, at: usize, message: &Message) {
    let item = match (message.kind, message.origin) {
        (MessageKind::ToolCall, _) => TurnItem::Tool {
            call: Some(at),
            result: None,
        },
        (MessageKind::ToolResult, _) => {
            // Results do not name their call, but have the order of the calls.
            let waiting = turn.items.iter_mut().find_map(|item| match item {
                TurnItem::Tool {
                    call: Some(_),
                    result: result @ None,
                } => Some(result),
                _ => None,
            });
            match waiting {
                Some(result) => {
                    *result = Some(at);
                    return;
                }
                None => TurnItem::Tool {
                    call: None,
                    result: Some(at),
                },
            }
        }
        (_, Origin::Injected) => TurnItem::Injected(at),
        (MessageKind::Thinking, _) => TurnItem::Thinking(at),
        (MessageKind::Notice, _) => TurnItem::Notice(at),
        (MessageKind::Text, _) => TurnItem::Text(at),
    };
    turn.items.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, kind: MessageKind, origin: Origin) -> Message {
        Message {
            line: 1,
            role,
            kind,
            origin,
            time: Some(7),
            text: String::new(),
            id: None,
            reply: None,
            tool: None,
            session: None,
        }
    }

    #[test]
    fn each_prompt_starts_a_turn_and_the_agents_lines_share_one() {
        use MessageKind::{Notice, Text, Thinking, ToolCall, ToolResult};
        use Origin::{Injected, Written};
        let messages = [
            message(Role::System, Notice, Written),
            message(Role::User, Text, Written),
            message(Role::User, Text, Injected),
            message(Role::User, Text, Written),
            message(Role::Assistant, Thinking, Written),
            message(Role::Assistant, ToolCall, Written),
            message(Role::Assistant, ToolCall, Written),
            message(Role::Tool, ToolResult, Written),
            message(Role::Tool, ToolResult, Written),
            message(Role::Tool, ToolResult, Written),
            message(Role::Assistant, Text, Written),
        ];
        let found = turns(&messages);
        let speakers: Vec<Speaker> = found.iter().map(|turn| turn.speaker).collect();
        assert_eq!(
            speakers,
            [
                Speaker::Program,
                Speaker::Person,
                Speaker::Person,
                Speaker::Agent
            ]
        );
        assert_eq!(found[1].items, [TurnItem::Text(1), TurnItem::Injected(2)]);
        let tool = |call, result| TurnItem::Tool { call, result };
        assert_eq!(
            found[3].items,
            [
                TurnItem::Thinking(4),
                tool(Some(5), Some(7)),
                tool(Some(6), Some(8)),
                tool(None, Some(9)),
                TurnItem::Text(10),
            ]
        );
        assert_eq!(found[3].items[3].message(), 9);
    }

    #[test]
    fn nothing_said_gives_no_turn() {
        assert_eq!(turns(&[]), []);
    }
}
