//! Questions about earlier conversations, answered from what hooks captured alone: where a subject is,
//! and what stands behind a bullet.

use std::fs;

use serde_json::{Value, json};

use crate::mcp::{Client, quotation};
use crate::support::{Home, json_of};

/// So many days ago, at nine.
fn moment(days: i64) -> jiff::Zoned {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let day = now.date().saturating_sub(jiff::Span::new().days(days));
    let time = day.to_datetime(jiff::civil::time(9, 0, 0, 0));
    time.to_zoned(jiff::tz::TimeZone::UTC).expect("a time")
}

/// Sends what an agent reports about a session of so many days ago: prompts and answers in turn.
fn talk(home: &Home, session: &str, days: i64, said: &[&str]) {
    for (minute, text) in said.iter().enumerate() {
        let time = moment(days).saturating_add(jiff::Span::new().minutes(minute as i64));
        let (event, field) = match minute % 2 {
            0 => ("UserPromptSubmit", "prompt"),
            _ => ("Stop", "last_assistant_message"),
        };
        let payload = json!({
            "hook_event_name": event, "session_id": session, "cwd": home.project(),
            "timestamp": time.timestamp().to_string(), field: text,
        });
        let output = home.run_with_input("hook claude-code", payload.to_string());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    }
}

/// A home in which hooks saw three sessions.
fn home() -> Home {
    let home = Home::new();
    talk(
        &home,
        "tokens",
        14,
        &[
            "How shall the login tokens be signed?",
            "We decided to sign the login tokens with RS256 instead of HS256, because the gateway verifies them without the secret.",
        ],
    );
    talk(
        &home,
        "invoices",
        7,
        &[
            "Please split the invoices table, the monthly report takes an hour",
            "The root cause is a full scan of the invoices table.",
            "Then partition it by month",
            "The invoices table is partitioned by month now, and the nightly job creates the next partition.",
            "Thanks, that is enough for today",
            "The report takes two minutes now.",
        ],
    );
    talk(
        &home,
        "colours",
        1,
        &["Make the buttons blue", "The buttons are blue now."],
    );
    home
}

fn asked(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let answer = client.ok(tool, arguments);
    json_of(quotation(&answer).1)
}

#[test]
fn a_keyword_leads_to_its_node_and_a_grip_to_the_words_with_what_is_around_them() {
    let home = home();
    let mut client = Client::start(&home, "");
    let found = home.json("teleport nightly partition");
    let node = found["results"][0]["node"].as_str().expect("a node");
    let date = moment(7).date();
    assert!(node.starts_with(&format!("toc:segment:{date}:")), "{found}");
    let query = json!({ "query": "nightly partition" });
    let same = asked(&mut client, "teleport_query", query);
    assert_eq!(same["results"][0]["node"], node);
    let grip = found["results"][0]["grips"][0].as_str().expect("a grip");
    for shown in [
        home.json(&["grip", grip]),
        asked(&mut client, "expand_grip", json!({ "grip_id": grip })),
    ] {
        let texts = |part: &str| -> Vec<&str> {
            let rows = shown[part].as_array().expect("events").iter();
            rows.map(|row| row["text"].as_str().expect("text"))
                .collect()
        };
        assert_eq!(shown["state"], "current");
        assert!(
            shown["grip"]["excerpt"]
                .as_str()
                .is_some_and(|text| text.contains("nightly job"))
        );
        assert!(texts("excerpt")[0].contains("nightly job"), "{shown}");
        assert_eq!(texts("before").last(), Some(&"Then partition it by month"));
        assert_eq!(
            texts("after").first(),
            Some(&"Thanks, that is enough for today")
        );
    }
}

#[test]
fn a_grip_of_captured_events_is_opened_after_a_thousand_more() {
    let home = home();
    let found = home.json("teleport nightly partition");
    let grip = found["results"][0]["grips"][0].as_str().expect("a grip");
    let before = home.json(&["grip", grip]);
    let store = before["grip"]["log"].as_str().expect("a store");
    let file = home
        .path()
        .join(format!(".local/share/tome/events/{store}/events.jsonl"));
    let mut text = fs::read_to_string(&file).expect("events");
    let start = moment(7).timestamp().as_millisecond() + 10 * 60_000;
    for at in 0..1_000_u64 {
        let time = start + 1_000 * at as i64;
        let id = ulid::Ulid::from_parts(time as u64, u128::from(at) + 1);
        let event = json!({
            "event_id": id.to_string(), "session_id": "invoices", "timestamp": time,
            "event_type": "user_message", "role": "user", "agent": "claude-code",
            "text": format!("Now look at part {at} of the archive and tell what it costs"),
        });
        text.push_str(&format!("{event}\n"));
    }
    fs::write(&file, text).expect("written");
    home.ok("toc");
    let after = home.json(&["grip", grip]);
    for part in ["grip", "state", "before", "excerpt"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    let around = |shown: &Value| {
        let rows = shown["after"].as_array().expect("events").clone();
        let is_own = rows.iter().all(|row| row["session_id"] == "invoices");
        (rows.len(), is_own)
    };
    assert_eq!(around(&before), (2, true), "the last of its session");
    assert_eq!(around(&after), (3, true));
}
