//! A conversation as a person reads it: turns, with what belongs together in one place.
//!
//! A turn starts when a person speaks, or when the agent does after them. The lines of one
//! reply, its tool calls and their results are items of the agent's turn; each
//! result is paired with its call.

use super::{Message, MessageKind, Origin, Role};

/// What one side said before the other spoke again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Whose turn it is.
    pub speaker: Speaker,
    /// The time of its first message that has one.
    pub time: Option<i64>,
    /// The line of its first message.
    pub line: u64,
    /// What it is made of, in order.
    pub items: Vec<TurnItem>,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    Person,
    /// The agent, its tools and its thoughts.
    Agent,
    /// The agent's program, before anybody spoke.
    Program,
}

/// A part of a turn; messages are given by their place in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnItem {
    /// Words.
    Text(usize),
    /// The model's reasoning.
    Thinking(usize),
    /// What the program put into the conversation.
    Injected(usize),
    /// What the program noted.
    Notice(usize),
    /// A tool's call with its result, where it came back; a result alone has lost its call.
    Tool {
        /// The call.
        call: Option<usize>,
        /// The result.
        result: Option<usize>,
    },
}

impl TurnItem {
    /// The message that the item starts with.
    pub fn message(self) -> usize {
        match self {
            Self::Text(at) | Self::Thinking(at) | Self::Injected(at) | Self::Notice(at) => at,
            Self::Tool { call, result } => call.or(result).unwrap_or(0),
        }
    }
}

/// The turns of a conversation.
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

/// Whether a person said it; a picture goes with the words beside it.
fn is_said_by_person(message: &Message) -> bool {
    message.role == Role::User
        && message.origin == Origin::Written
        && message.kind != MessageKind::Notice
}

/// Whose turn a message belongs to: what is not said by either side goes with the turn it is in.
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
            // Results carry no name of their call; they come back in the order of the calls.
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
