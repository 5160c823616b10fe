//! Edits TOML as text, so that comments, order and line endings of the rest stay as they are. What
//! cannot be edited so, such as a table in braces, is edited by `toml_edit`.

use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::{FOREIGN_SERVER, KnownServer, START_SECONDS};
use crate::core::text::toml_text;

/// `text` with a server of this name; `None` if it is already there.
pub(super) fn with_server(text: &str, name: &str, command: &str) -> Result<Option<String>, String> {
    let mut document = read(text)?;
    let new = server(command);
    let known = document.get(SERVERS).and_then(|servers| servers.get(name));
    if let Some(known) = known {
        match known_server(known, command) {
            KnownServer::Foreign => return Err(FOREIGN_SERVER.to_owned()),
            KnownServer::Customized => return Ok(None),
            KnownServer::Registered if is_same(known, &new) => return Ok(None),
            KnownServer::Registered => {}
        }
        // What the user added to it stays.
        for (key, value) in new.iter() {
            document[SERVERS][name][key] = value.clone();
        }
        return Ok(Some(document.to_string()));
    }
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let gap = if text.is_empty() { "" } else { "\n" };
    let table = format!("{end}{gap}[{SERVERS}.{name}]\n{new}");
    let table = if text.contains("\r\n") {
        table.replace('\n', "\r\n")
    } else {
        table
    };
    let appended = format!("{text}{table}");
    if read(&appended).is_ok_and(|document| document.get(SERVERS).is_some()) {
        return Ok(Some(appended));
    }
    let servers = document[SERVERS].as_table_like_mut();
    let servers = servers.ok_or_else(|| format!("{SERVERS} is no table"))?;
    servers.insert(name, Item::Table(new));
    Ok(Some(document.to_string()))
}

/// `text` without the server of this name; `None` if there is none, or somebody else's.
pub(super) fn without_server(
    text: &str,
    name: &str,
    command: &str,
) -> Result<Option<String>, String> {
    let mut document = read(text)?;
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return Ok(None);
    };
    let known = servers.get(name);
    if known.is_none_or(|known| known_server(known, command) == KnownServer::Foreign) {
        return Ok(None);
    }
    servers.remove(name);
    let removed = document.to_string();
    // Without the table's comments, which `toml_edit` removes with it, both must say the same.
    let values = |text: &str| toml_text::typed::<toml::Table>(text).ok();
    let cut = without_table(text, &format!("{SERVERS}.{name}"));
    let same = cut.filter(|cut| is_alike(values(cut), values(&removed)));
    Ok(Some(same.unwrap_or(removed)))
}

const SERVERS: &str = "mcp_servers";

fn server(command: &str) -> Table {
    let mut server = Table::new();
    server.insert("command", toml_edit::value(command));
    server.insert("args", toml_edit::value(Array::from_iter(["mcp"])));
    let seconds = i64::try_from(START_SECONDS).unwrap_or(i64::MAX);
    server.insert("startup_timeout_sec", toml_edit::value(seconds));
    server
}

fn known_server(item: &Item, program: &str) -> KnownServer {
    let called = item.get("command").and_then(Item::as_str);
    let args = item.get("args").and_then(Item::as_array);
    let args = args.into_iter().flatten().filter_map(Value::as_str);
    KnownServer::of(called.into_iter().chain(args), program)
}

/// Whether the server has every value of the new one.
fn is_same(known: &Item, new: &Table) -> bool {
    let bare = |item: &Item| item.to_string().trim().to_owned();
    new.iter().all(|(key, value)| {
        known
            .get(key)
            .is_some_and(|known| bare(known) == bare(value))
    })
}

/// Whether two documents say the same; an empty table of servers says nothing.
fn is_alike(one: Option<toml::Table>, other: Option<toml::Table>) -> bool {
    let bare = |table: Option<toml::Table>| {
        let mut table = table?;
        let servers = table.get(SERVERS).and_then(toml::Value::as_table);
        if servers.is_some_and(toml::Table::is_empty) {
            table.remove(SERVERS);
        }
        Some(table)
    };
    one.is_some() && bare(one) == bare(other)
}

/// `text` without the lines of a table and of the tables below it, and without the empty line before
/// them. Comments before and after it stay. `None` if no line begins it.
fn without_table(text: &str, name: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_own = |line: &str| {
        let header = line.trim_start().strip_prefix('[');
        let rest = header.and_then(|header| header.trim_start().strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['.', ']']))
    };
    let mut found = false;
    while let Some(first) = lines.iter().position(|line| is_own(line)) {
        found = true;
        let below = &lines[first + 1..];
        let next = below
            .iter()
            .position(|line| line.trim_start().starts_with('['));
        let own = &below[..next.unwrap_or(below.len())];
        let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let last = own.iter().rposition(is_said).map_or(0, |last| last + 1);
        let start = match lines[..first].last() {
            Some(before) if before.trim().is_empty() => first - 1,
            _ => first,
        };
        lines.drain(start..=first + last);
    }
    found.then(|| lines.concat())
}

fn read(text: &str) -> Result<DocumentMut, String> {
    toml_text::document(text).map_err(|unreadable| unreadable.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_goes_in_and_comes_out_again() {
        for text in [
            "",
            "model = \"o\" # why\n",
            "model = \"o\" # why\r\n\r\n[tui]\r\na = 1\r\n",
            "[mcp_servers.other]\ncommand = \"x\"\n\n[tui]\na = 1\n",
            "mcp_servers.other.command = \"x\"\n",
            "[mcp_servers]\n# none yet\n",
        ] {
            let put = with_server(text, "tome", "tome")
                .expect("TOML")
                .expect("new");
            assert!(
                put.replace('\r', "")
                    .contains("[mcp_servers.tome]\ncommand = \"tome\"\nargs = [\"mcp\"]\nstartup_timeout_sec = 5\n"),
                "{put}"
            );
            assert!(put.starts_with(text), "{put}");
            assert_eq!(with_server(&put, "tome", "tome"), Ok(None));
            let out = without_server(&put, "tome", "tome").expect("TOML");
            assert_eq!(out.as_deref(), Some(text));
        }
        let inline = "mcp_servers = { other = { command = \"x\" } } # mine\n";
        let put = with_server(inline, "tome", "tome")
            .expect("TOML")
            .expect("new");
        assert!(
            put.contains("tome = { command = \"tome\", args = [\"mcp\"]"),
            "{put}"
        );
        assert_eq!(with_server(&put, "tome", "tome"), Ok(None));
        let out = without_server(&put, "tome", "tome").expect("TOML");
        assert_eq!(out.as_deref(), Some(inline));
        assert!(with_server("a = ", "tome", "tome").is_err());
    }

    #[test]
    fn comments_around_the_table_stay() {
        let text = "a = 1\n\n# mine, above\n[mcp_servers.tome]\ncommand = \"tome\"\nargs = [\"mcp\"]\n\n[mcp_servers.tome.env]\nA = \"b\"\n\n# mine, of the next\n[tui]\nb = 1\n";
        let out = without_server(text, "tome", "tome").expect("TOML");
        assert_eq!(
            out.as_deref(),
            Some("a = 1\n\n# mine, above\n\n# mine, of the next\n[tui]\nb = 1\n")
        );
    }

    #[test]
    fn a_server_of_somebody_else_is_left_alone_and_one_with_more_arguments_is_known() {
        let foreign = "[mcp_servers.tome]\ncommand = \"books\"\nargs = [\"mcp\"]\n";
        assert!(with_server(foreign, "tome", "tome").is_err());
        assert_eq!(without_server(foreign, "tome", "tome"), Ok(None));
        let own = "[mcp_servers.tome]\ncommand = \"/a/tome\"\nargs = [\"mcp\", \"--read-only\"]\n";
        assert_eq!(with_server(own, "tome", "tome"), Ok(None));
        assert_eq!(without_server(own, "tome", "tome"), Ok(Some(String::new())));
        // One of another place or with other limits is replaced.
        let old = "[mcp_servers.tome]\ncommand = \"/a/tome\"\nargs = [\"mcp\"]\n";
        let put = with_server(old, "tome", "tome")
            .expect("TOML")
            .expect("changed");
        assert!(!put.contains("/a/tome"), "{put}");
    }
}
