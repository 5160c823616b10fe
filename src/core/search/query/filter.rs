//! Filters, written as `name:value`, that restrict a search.

use jiff::Zoned;

use crate::core::log::{Agent, Role};
use crate::core::text::time::{self, Edge};

/// The name of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The type of a memory.
    Type,
    /// Memories, logs or tool text.
    In,
    /// A store.
    Store,
    /// The agent that wrote the log.
    Agent,
    /// The role of a message's author.
    Role,
    /// A part of the working directory of a log.
    Project,
    /// The earliest time.
    Since,
    /// The time that results must be older than.
    Before,
}

/// The values of `in:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchArea {
    /// Curated memories.
    Memories,
    /// Messages of logs.
    Logs,
    /// Input and output of tools in logs.
    Tools,
}

/// All filters of a query. Values of one filter are alternatives; different filters must all
/// match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters {
    /// Types of memories.
    pub types: Vec<String>,
    /// Memories, logs, tool text.
    pub areas: Vec<SearchArea>,
    /// Stores, by name.
    pub stores: Vec<String>,
    /// Agents.
    pub agents: Vec<Agent>,
    /// Roles of messages' authors.
    pub roles: Vec<Role>,
    /// Parts of the working directories of logs.
    pub projects: Vec<String>,
    /// The earliest time, in milliseconds since 1970 UTC.
    pub since: Option<i64>,
    /// The time that results must be older than, in milliseconds since 1970 UTC.
    pub before: Option<i64>,
    /// Whether text is left out that programs put into conversations. No word of a query says so.
    pub says_only: bool,
}

/// The roles and their names.
const ROLES: [(Role, &str); 4] = [
    (Role::User, "user"),
    (Role::Assistant, "assistant"),
    (Role::System, "system"),
    (Role::Tool, "tool"),
];

impl Filter {
    /// Every filter.
    pub const ALL: [Self; 8] = [
        Self::Type,
        Self::In,
        Self::Store,
        Self::Agent,
        Self::Role,
        Self::Project,
        Self::Since,
        Self::Before,
    ];

    /// Returns the name that is written before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::In => "in",
            Self::Store => "store",
            Self::Agent => "agent",
            Self::Role => "role",
            Self::Project => "project",
            Self::Since => "since",
            Self::Before => "before",
        }
    }

    /// Returns a short description.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Type => "memories of a type",
            Self::In => "memories, logs or tools",
            Self::Store => "one store",
            Self::Agent => "logs of an agent",
            Self::Role => "who speaks",
            Self::Project => "logs made in a directory of this name",
            Self::Since => "not older than a day or an age",
            Self::Before => "older than a day or an age",
        }
    }

    /// Returns the filter with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filter| filter.name() == name)
    }

    /// Returns the possible values; empty if any text is allowed.
    pub fn values(self) -> Vec<&'static str> {
        match self {
            Self::In => SearchArea::ALL.map(SearchArea::name).to_vec(),
            Self::Agent => Agent::all().map(Agent::name).collect(),
            Self::Role => ROLES.map(|(_, name)| name).to_vec(),
            Self::Since | Self::Before => vec!["today", "yesterday", "7d", "30d", "1y"],
            Self::Type | Self::Store | Self::Project => Vec::new(),
        }
    }
}

impl SearchArea {
    /// Every area.
    pub const ALL: [Self; 3] = [Self::Memories, Self::Logs, Self::Tools];

    /// Returns the name that is written after `in:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memories => "memories",
            Self::Logs => "logs",
            Self::Tools => "tools",
        }
    }
}

impl Filters {
    /// Adds a filter; the error lists the possible values.
    pub(super) fn add(&mut self, filter: Filter, value: &str, now: &Zoned) -> Result<(), String> {
        let known = || {
            let verb = if value.is_empty() { "needs" } else { "is" };
            format!(
                "{}: {verb} one of {}",
                filter.name(),
                filter.values().join(", ")
            )
        };
        let text = || match value {
            "" => Err(format!(
                "{}: needs a value, {}",
                filter.name(),
                filter.meaning()
            )),
            value => Ok(value.to_owned()),
        };
        match filter {
            Filter::Type => self.types.push(text()?),
            Filter::Store => self.stores.push(text()?),
            Filter::Project => self.projects.push(text()?),
            Filter::In => {
                let areas = SearchArea::ALL.map(|area| (area, area.name()));
                self.areas.extend(named(areas, value).ok_or_else(known)?);
            }
            Filter::Agent => {
                let agents = Agent::all().map(|agent| (agent, agent.name()));
                self.agents.extend(named(agents, value).ok_or_else(known)?);
            }
            Filter::Role => self.roles.extend(named(ROLES, value).ok_or_else(known)?),
            Filter::Since => self.since = Some(moment(filter, value, now)?),
            Filter::Before => self.before = Some(moment(filter, value, now)?),
        }
        Ok(())
    }

    /// Returns whether this area is searched; by default all are, except tool text.
    pub fn wants(&self, place: SearchArea) -> bool {
        match self.areas.as_slice() {
            [] => place != SearchArea::Tools,
            places => places.contains(&place),
        }
    }

    /// Returns whether the time is within the bounds; an unknown time is outside of any bound.
    pub fn allows_time(&self, time: Option<i64>) -> bool {
        let since = self
            .since
            .is_none_or(|since| time.is_some_and(|time| time >= since));
        let before = self
            .before
            .is_none_or(|before| time.is_some_and(|time| time < before));
        since && before
    }

    /// Returns whether every message of a log that they admit is admitted, whatever its role and
    /// time.
    pub fn admit_all_messages(&self) -> bool {
        self.roles.is_empty() && self.since.is_none() && self.before.is_none()
    }

    /// Returns whether the role is allowed.
    pub fn allows_role(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.contains(&role)
    }
}

/// Returns what has this name, or else everything whose name begins so, since a name is typed letter
/// by letter; `None` if nothing does.
fn named<T: Copy>(all: impl IntoIterator<Item = (T, &'static str)>, value: &str) -> Option<Vec<T>> {
    let all: Vec<(T, &str)> = all.into_iter().collect();
    if let Some((one, _)) = all.iter().find(|(_, name)| *name == value) {
        return Some(vec![*one]);
    }
    let begun = all.iter().filter(|(_, name)| name.starts_with(value));
    let begun: Vec<T> = begun.map(|(one, _)| *one).collect();
    (!value.is_empty() && !begun.is_empty()).then_some(begun)
}

/// Returns the time of a filter's value, in milliseconds since 1970 UTC.
fn moment(filter: Filter, value: &str, now: &Zoned) -> Result<i64, String> {
    let wrong = || format!("{}: is {}", filter.name(), time::FORMS);
    time::parse(value, now, Edge::Start).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_time_is_in_no_bounds() {
        let mut filters = Filters::default();
        assert!(filters.allows_time(None));
        filters.since = Some(5);
        assert!(!filters.allows_time(None));
        assert!(filters.allows_time(Some(5)));
        filters.before = Some(7);
        assert!(!filters.allows_time(Some(7)));
    }

    #[test]
    fn the_beginning_of_a_name_stands_for_all_that_begin_so() {
        let read = |filter: Filter, value: &str| {
            let mut filters = Filters::default();
            let added = filters.add(filter, value, &crate::core::search::query::noon());
            added.map(|()| filters)
        };
        let agents = |value: &str| read(Filter::Agent, value).map(|filters| filters.agents);
        assert_eq!(agents("code"), Ok(vec![Agent::Codex]));
        let begun = agents("co").expect("some agents");
        assert!(begun.contains(&Agent::Codex) && begun.contains(&Agent::Copilot));
        assert_eq!(agents("codex"), Ok(vec![Agent::Codex]));
        assert!(agents("").is_err() && agents("codexx").is_err());
        let areas = read(Filter::In, "to").map(|filters| filters.areas);
        assert_eq!(areas, Ok(vec![SearchArea::Tools]));
        let roles = read(Filter::Role, "u").map(|filters| filters.roles);
        assert_eq!(roles, Ok(vec![Role::User]));
    }

    #[test]
    fn tool_text_is_looked_at_only_when_it_is_named() {
        let mut filters = Filters::default();
        assert!(filters.wants(SearchArea::Memories) && !filters.wants(SearchArea::Tools));
        filters.areas.push(SearchArea::Tools);
        assert!(!filters.wants(SearchArea::Memories) && filters.wants(SearchArea::Tools));
    }
}
