//! Edits TOML; comments and order are kept.

use toml_edit::{Array, DocumentMut, Item, Table, Value};

use crate::core::text::toml_text;

/// `text` with a server of this name; `None` if it is already there.
pub(super) fn with_server(text: &str, name: &str, command: &str) -> Result<Option<String>, String> {
    let mut document = read(text)?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(servers) = servers.as_table_like_mut() else {
        return Err(format!("{SERVERS} is no table"));
    };
    let own = |item: &Item| {
        let called = item.get("command").and_then(Item::as_str) == Some(command);
        called
            && item
                .get("args")
                .and_then(Item::as_array)
                .is_some_and(is_serving)
    };
    if servers.get(name).is_some_and(own) {
        return Ok(None);
    }
    let mut server = Table::new();
    server.insert("command", toml_edit::value(command));
    server.insert("args", toml_edit::value(Array::from_iter(["mcp"])));
    servers.insert(name, Item::Table(server));
    Ok(Some(document.to_string()))
}

/// `text` without the server of this name; `None` if there is none.
pub(super) fn without_server(text: &str, name: &str) -> Result<Option<String>, String> {
    let mut document = read(text)?;
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return Ok(None);
    };
    if servers.remove(name).is_none() {
        return Ok(None);
    }
    Ok(Some(document.to_string()))
}

const SERVERS: &str = "mcp_servers";

fn is_serving(args: &Array) -> bool {
    args.len() == 1 && args.get(0).and_then(Value::as_str) == Some("mcp")
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
            "[mcp_servers.other]\ncommand = \"x\"\n\n[tui]\na = 1\n",
        ] {
            let put = with_server(text, "tome", "tome")
                .expect("TOML")
                .expect("new");
            assert!(
                put.contains("[mcp_servers.tome]\ncommand = \"tome\"\nargs = [\"mcp\"]"),
                "{put}"
            );
            assert_eq!(with_server(&put, "tome", "tome"), Ok(None));
            assert_eq!(
                without_server(&put, "tome")
                    .expect("TOML")
                    .expect("there")
                    .trim(),
                text.trim()
            );
        }
        let inline = "mcp_servers = { other = { command = \"x\" } } # mine\n";
        let put = with_server(inline, "tome", "tome")
            .expect("TOML")
            .expect("new");
        assert!(
            put.contains("tome = { command = \"tome\", args = [\"mcp\"] }"),
            "{put}"
        );
        assert_eq!(with_server(&put, "tome", "tome"), Ok(None));
        assert!(with_server("a = ", "tome", "tome").is_err());
    }
}
