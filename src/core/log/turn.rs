//! Groups the messages of a conversation into turns.
//!
//! A turn starts with each prompt of the user, and when the speaker changes. The text, tool
//! calls and results of a reply are items of the agent's turn; each result is paired with
//! its call by the id that they share, in whichever turn the call is.

use std::collections::HashMap;

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
    /// Another agent, such as the one that started this one as a subagent.
    OtherAgent,
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

    /// Returns the id of the log of the subagent that the item's call started.
    pub fn subagent(self, messages: &[Message]) -> Option<&str> {
        match self {
            Self::Tool {
                result: Some(result),
                ..
            } => messages.get(result)?.subagent.as_deref(),
            _ => None,
        }
    }
}

/// Groups the messages of a conversation into turns.
pub fn turns(messages: &[Message]) -> Vec<Turn> {
    let mut grouping = Grouping::default();
    for (at, message) in messages.iter().enumerate() {
        grouping.take(at, message);
    }
    grouping.turns
}

/// The turns so far.
#[derive(Default)]
struct Grouping<'a> {
    turns: Vec<Turn>,
    /// The item of each call or result that waits for its other half, by their id.
    open: HashMap<&'a str, (usize, usize)>,
}

impl<'a> Grouping<'a> {
    fn take(&mut self, at: usize, message: &'a Message) {
        if self.completes(at, message) {
            return;
        }
        let speaker = speaker(message, self.turns.last());
        let is_new = self.turns.last().is_none_or(|turn| {
            turn.speaker != speaker || (speaker == Speaker::Person && is_said_by_person(message))
        });
        if is_new {
            self.turns.push(Turn {
                speaker,
                time: None,
                line: message.line,
                items: Vec::new(),
            });
        }
        let number = self.turns.len() - 1;
        let turn = &mut self.turns[number];
        turn.time = turn.time.or(message.time);
        let item = item(at, message);
        if let (TurnItem::Tool { .. }, Some(id)) = (item, message.call.as_deref()) {
            self.open.insert(id, (number, turn.items.len()));
        }
        turn.items.push(item);
    }

    /// Adds a call or a result to the item of its other half, if there is one.
    fn completes(&mut self, at: usize, message: &Message) -> bool {
        let is_result = match message.kind {
            MessageKind::ToolCall => false,
            MessageKind::ToolResult => true,
            _ => return false,
        };
        let half = match message.call.as_deref() {
            Some(id) => {
                let found = self.open.get(id).copied();
                found.map(|(turn, item)| &mut self.turns[turn].items[item])
            }
            // Without ids, results have the order of the calls of their turn.
            None if is_result => {
                let items = self.turns.last_mut().map(|turn| turn.items.iter_mut());
                items.into_iter().flatten().find(|item| is_unanswered(item))
            }
            None => None,
        };
        let Some(TurnItem::Tool { call, result }) = half else {
            return false;
        };
        let side = if is_result { result } else { call };
        if side.is_some() {
            return false;
        }
        *side = Some(at);
        if let Some(id) = message.call.as_deref() {
            self.open.remove(id);
        }
        true
    }
}

/// Whether the item is a call without a result.
fn is_unanswered(item: &TurnItem) -> bool {
    matches!(
        item,
        TurnItem::Tool {
            call: Some(_),
            result: None,
        }
    )
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
        (_, Origin::Agent) => Speaker::OtherAgent,
        (Role::User, Origin::Written) => Speaker::Person,
        (Role::Assistant, _) | (Role::Tool, _) => Speaker::Agent,
        _ => turn.map_or(Speaker::Program, |turn| turn.speaker),
    }
}

fn item(at: usize, message: &Message) -> TurnItem {
    match (message.kind, message.origin) {
        (MessageKind::ToolCall, _) => TurnItem::Tool {
            call: Some(at),
            result: None,
        },
        (MessageKind::ToolResult, _) => TurnItem::Tool {
            call: None,
            result: Some(at),
        },
        (_, Origin::Injected) => TurnItem::Injected(at),
        (MessageKind::Thinking, _) => TurnItem::Thinking(at),
        (MessageKind::Notice, _) => TurnItem::Notice(at),
        (MessageKind::Text, _) => TurnItem::Text(at),
    }
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
            call: None,
            subagent: None,
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
    fn a_result_is_paired_with_its_call_by_their_id_in_any_order_and_turn() {
        let tool = |kind, call: &str| Message {
            call: Some(call.to_owned()),
            subagent: (call == "b" && kind == MessageKind::ToolResult).then(|| "sub".to_owned()),
            ..message(Role::Tool, kind, Origin::Written)
        };
        use MessageKind::{Text, ToolCall, ToolResult};
        let messages = [
            tool(ToolCall, "a"),
            tool(ToolCall, "b"),
            tool(ToolResult, "c"),
            message(Role::User, Text, Origin::Written),
            tool(ToolResult, "b"),
            tool(ToolCall, "c"),
            tool(ToolResult, "a"),
            message(Role::Assistant, Text, Origin::Agent),
        ];
        let found = turns(&messages);
        let item = |call, result| TurnItem::Tool {
            call: Some(call),
            result: Some(result),
        };
        assert_eq!(found[0].items, [item(0, 6), item(1, 4), item(5, 2)]);
        assert_eq!(found[0].items[1].subagent(&messages), Some("sub"));
        assert_eq!(found[0].items[0].subagent(&messages), None);
        let speakers: Vec<Speaker> = found.iter().map(|turn| turn.speaker).collect();
        assert_eq!(
            speakers,
            [Speaker::Agent, Speaker::Person, Speaker::OtherAgent]
        );
    }

    #[test]
    fn nothing_said_gives_no_turn() {
        assert_eq!(turns(&[]), []);
    }
}
