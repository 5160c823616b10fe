//! The timeline: from years down to the lines that support a bullet.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, ends, has, lacks, starts};

const ID: &str = "22222222-3333-4444-8555-666666666666";

/// The log of a session, as a path below the home.
fn path(home: &Home) -> String {
    format!("{}/{ID}.jsonl", home.claude_folder())
}

fn record(home: &Home, number: usize, time: &str, role: &str, content: &Value) -> String {
    let mut record = home.claude_record(ID, number, role, content.clone());
    record["timestamp"] = json!(time);
    format!("{record}\n")
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn call(tool: &str, input: &Value) -> Value {
    json!([{ "type": "tool_use", "id": "t", "name": tool, "input": input }])
}

/// A session of two parts, on both sides of a turn of the year by ISO weeks.
fn session(home: &Home) -> String {
    let lock = home.project().join("src/lock.rs");
    let records = [
        (
            "2024-12-29T23:00:00Z",
            "user",
            json!("please fix the stale lock of the history"),
        ),
        (
            "2024-12-29T23:01:00Z",
            "assistant",
            text("The root cause is a lock file that nobody removes after a crash."),
        ),
        (
            "2024-12-29T23:02:00Z",
            "assistant",
            call(
                "Edit",
                &json!({ "file_path": lock, "old_string": "a", "new_string": "b" }),
            ),
        ),
        (
            "2024-12-29T23:03:00Z",
            "assistant",
            call(
                "Bash",
                &json!({ "command": "git commit -am 'fix(history): remove stale locks'" }),
            ),
        ),
        (
            "2024-12-29T23:04:00Z",
            "assistant",
            text(
                "The lock of a process that has ended is removed now. The commit is not pushed yet.",
            ),
        ),
        (
            "2024-12-30T09:00:00Z",
            "user",
            json!("can we decide how long a lock may be waited for?"),
        ),
        (
            "2024-12-30T09:01:00Z",
            "assistant",
            text("We go with ten seconds instead of a minute, since agents give up early."),
        ),
    ];
    let lines = records.iter().enumerate();
    lines
        .map(|(number, (time, role, content))| record(home, number, time, role, content))
        .collect()
}

fn toc(home: &Home, args: &[&str]) -> Value {
    let all: Vec<&str> = ["toc", "--json"].iter().chain(args).copied().collect();
    serde_json::from_str(&home.ok(&all)).expect("JSON")
}

fn ids(nodes: &Value) -> Vec<String> {
    let nodes = nodes.as_array().expect("a list").iter();
    nodes
        .map(|node| node["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn a_session_is_walked_from_its_year_down_to_its_lines() {
    let home = Home::new();
    home.file(&path(&home), session(&home));
    let years = toc(&home, &[]);
    assert_eq!(years["schema"], 1);
    assert_eq!(ids(&years["nodes"]), ["toc:year:2024"]);
    assert_eq!(
        years["nodes"][0]["projects"],
        json!([{ "project": home.project(), "sessions": 1, "commits": 1 }])
    );
    has(
        home.ok(&["toc"]),
        ["• project (1 session, 1 commit): fix(history): remove stale locks"],
    );
    for (parent, children) in [
        ("toc:year:2024", &["toc:month:2024:12"][..]),
        // A month has the weeks in which it has days.
        (
            "toc:month:2024-12",
            &["toc:week:2024:W52", "toc:week:2025:W01"],
        ),
        ("toc:week:2025-W01", &["toc:day:2024-12-30"]),
        ("toc:week:2024:W52", &["toc:day:2024-12-29"]),
    ] {
        let node = toc(&home, &[parent]);
        assert_eq!(ids(&node["node"]["children"]), children, "{parent}");
        assert_ne!(node["node"]["bullets"], json!([]), "{parent}");
    }
    let day = toc(&home, &["toc:day:2024-12-29"]);
    assert_eq!(day["node"]["title"], "Sunday, December 29, 2024");
    let segment = ids(&day["node"]["children"]).remove(0);
    let segment = toc(&home, &[&segment])["node"].clone();
    assert_eq!(
        (
            &segment["first_line"],
            &segment["last_line"],
            &segment["level"]
        ),
        (&json!(1), &json!(5), &json!("segment"))
    );
    assert_eq!(segment["files"], json!(["src/lock.rs"]));
    assert_eq!(segment["log"], format!("claude-code:{ID}"));
    let bullets = segment["bullets"].as_array().expect("bullets");
    let starting = |label: &str| {
        let found = bullets.iter().find(|bullet| {
            let text = bullet["text"].as_str().unwrap_or_default();
            text.starts_with(label)
        });
        found.unwrap_or_else(|| panic!("no {label}: {segment}"))
    };
    for (label, line) in [("Asked", 1), ("Committed", 4), ("Reported", 5), ("Open", 5)] {
        let citation = format!("claude-code:{ID}#L{line}");
        assert_eq!(starting(label)["citations"][0], citation, "{label}");
    }
    let grip = starting("Committed")["grips"][0].as_str().expect("a grip");
    let shown: Value =
        serde_json::from_str(&home.ok(&["grip", grip, "--before", "1", "--json"])).expect("JSON");
    assert_eq!(shown["state"], "current");
    let lines = |name: &str| shown[name].as_array().map_or(0, Vec::len);
    assert_eq!(
        (lines("before"), lines("excerpt"), lines("after")),
        (1, 1, 3)
    );
    let cited = shown["excerpt"][0]["text"].as_str().expect("text");
    has(cited, ["remove stale locks"]);
    let citation = shown["grip"]["citation"].as_str().expect("a citation");
    has(home.ok(&["read", citation]), ["remove stale locks"]);
}

#[test]
fn the_session_as_a_whole_has_a_node_of_its_own() {
    let home = Home::new();
    home.file(&path(&home), session(&home));
    let node = toc(&home, &["--log", &ID[..8]])["node"].clone();
    assert_eq!(node["id"], format!("log:claude-code:{ID}"));
    assert_eq!(node["children"].as_array().map(Vec::len), Some(2), "{node}");
    assert_eq!(
        (&node["first_line"], &node["last_line"]),
        (&json!(1), &json!(7))
    );
    let title = node["title"].as_str().expect("a title");
    has(title.to_lowercase(), ["stale lock"]);
    let plain = home.ok(&["toc", "--log", ID]);
    has(&plain, ["Committed: fix(history): remove stale locks  L4"]);
    assert_eq!(home.run(&["toc", "--log", "none"]).code, 2);
    assert_eq!(home.run(&["toc", "toc:day:2020-01-01"]).code, 1);
    let wrong = home.run(&["toc", "toc:day:2020"]);
    assert_eq!(wrong.code, 2);
    has(&wrong.err, ["toc:day:2024-01-15"]);
}

#[test]
fn a_rebuilt_timeline_is_the_same_and_a_grown_log_changes_only_its_last_nodes() {
    let home = Home::new();
    let log = home.file(&path(&home), session(&home));
    let before = home.ok(&["toc", "--level", "segment", "--json"]);
    assert_eq!(
        home.ok(&["toc", "--level", "segment", "--json", "--rebuild"]),
        before
    );
    fs::remove_dir_all(home.path().join(".cache/tome/timeline")).expect("removed");
    assert_eq!(home.ok(&["toc", "--level", "segment", "--json"]), before);
    let mut grown = fs::read_to_string(&log).expect("text");
    let said = text("Added an error that names the process which holds the lock.");
    grown.push_str(&record(
        &home,
        9,
        "2024-12-30T09:02:00Z",
        "assistant",
        &said,
    ));
    fs::write(&log, grown).expect("written");
    let after = home.ok(&["toc", "--level", "segment", "--json"]);
    assert_eq!(
        home.ok(&["toc", "--level", "segment", "--json", "--rebuild"]),
        after
    );
    let nodes = |text: &str| {
        let nodes: Value = serde_json::from_str(text).expect("JSON");
        nodes["nodes"].as_array().expect("nodes").clone()
    };
    let (before, after) = (nodes(&before), nodes(&after));
    assert_eq!(before[1], after[1]);
    assert_eq!(before[0]["id"], after[0]["id"]);
    assert_eq!(
        (&before[0]["version"], &after[0]["version"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(after[0]["last_line"], 8);
}

#[test]
fn a_node_that_is_rewritten_keeps_its_former_versions() {
    let home = Home::new();
    let log = home.file(&path(&home), session(&home));
    let day = "toc:day:2024-12-30";
    let bullets = |args: &[&str]| {
        let node = toc(&home, args)["node"].clone();
        (node["version"].clone(), node["bullets"].clone())
    };
    let (number, first) = bullets(&[day]);
    assert_eq!(number, 1);
    let week = bullets(&["toc:week:2025:W01"]).1;
    let mut grown = fs::read_to_string(&log).expect("text");
    for at in 1..=7 {
        let time = format!("2024-12-30T09:0{}:00Z", at + 1);
        let said = text(&format!(
            "Decision {at}: the parser of part {at} keeps comment {at} of file {at}."
        ));
        grown.push_str(&record(&home, 9 + at, &time, "assistant", &said));
        fs::write(&log, &grown).expect("written");
        home.ok(&["teleport", "lock"]);
        if at == 1 {
            assert_eq!(bullets(&[day, "--version", "1"]), (json!(1), first.clone()));
            assert_ne!(bullets(&[day]).1, first);
            let former = bullets(&["toc:week:2025:W01", "--version", "1"]);
            assert_eq!(former, (json!(1), week.clone()));
            let session = bullets(&["--log", ID]);
            assert_eq!(session.0, 2);
            assert_ne!(bullets(&["--log", ID, "--version", "1"]).1, session.1);
        }
    }
    let newest = toc(&home, &[day])["node"].clone();
    let number = newest["version"].as_u64().expect("a number");
    assert!(number > 5, "{newest}");
    assert_eq!(newest["former_versions"].as_array().map(Vec::len), Some(5));
    assert_eq!(
        bullets(&[day, "--version", &number.to_string()]).1,
        newest["bullets"]
    );
    let gone = home.run(&["toc", day, "--version", "1"]);
    assert_eq!(gone.code, 2);
    has(&gone.err, ["no version 1 is kept"]);
    let shown = home.ok(&["toc", day]);
    has(&shown, [&format!("version {number}; --version shows")]);
}

#[test]
fn an_interrupted_build_goes_on_and_a_damaged_record_is_made_anew() {
    let home = Home::new();
    home.file(&path(&home), session(&home));
    let whole = home.ok(&["toc", "--level", "day", "--json"]);
    let cache = home.path().join(".cache/tome/timeline");
    let records = fs::read_dir(&cache).expect("a cache").flatten();
    for record in records {
        let bytes = fs::read(record.path()).expect("a record");
        for end in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            fs::write(record.path(), &bytes[..end]).expect("cut");
            assert_eq!(
                home.ok(&["toc", "--level", "day", "--json"]),
                whole,
                "{end}"
            );
        }
    }
}

#[test]
fn other_bytes_of_the_same_size_and_time_are_in_the_timeline() {
    let home = Home::new();
    let log = home.file(&path(&home), session(&home));
    let args = ["toc", "--level", "segment"];
    has(home.ok(&args), ["stale lock"]);
    let time = fs::metadata(&log).and_then(|found| found.modified());
    let text = session(&home).replace("stale lock", "fresh lock");
    fs::write(&log, text).expect("written");
    let file = fs::File::options().append(true).open(&log);
    file.and_then(|file| file.set_modified(time.expect("a time")))
        .expect("set");
    lacks(home.ok(&args), ["stale lock"]);
}

#[test]
fn a_build_that_is_killed_at_any_moment_ends_the_same() {
    const ROUNDS: u32 = 10;
    let home = Home::new();
    for number in 0..40 {
        let id = format!("{number:08}-3333-4444-8555-666666666666");
        let words = format!("the stale lock number {number}");
        let text = session(&home).replace(ID, &id);
        home.file(
            &path(&home).replace(ID, &id),
            text.replace("the stale lock", &words),
        );
    }
    let args = ["toc", "--level", "segment", "--json"];
    let began = std::time::Instant::now();
    let whole = home.ok(&args);
    let whole_time = began.elapsed();
    for round in 0..ROUNDS {
        // Every second round begins without the corpus, too.
        let cache = home.path().join(".cache/tome");
        let emptied = match round % 2 {
            0 => cache.join("timeline"),
            _ => cache.clone(),
        };
        fs::remove_dir_all(emptied).expect("removed");
        let mut build = home.command(&args);
        build.stdout(std::process::Stdio::null());
        let mut build = build.spawn().expect("the program runs");
        std::thread::sleep(whole_time * round / ROUNDS);
        build.kill().expect("killed");
        build.wait().expect("ended");
        assert_eq!(home.ok(&args), whole, "round {round}");
        assert_eq!(home.ok(&args), whole, "from the cache, round {round}");
    }
}

#[test]
fn a_grip_shows_its_words_when_the_log_is_gone() {
    let home = Home::new();
    let log = home.file(&path(&home), session(&home));
    let found: Value =
        serde_json::from_str(&home.ok(&["teleport", "stale", "lock", "--json"])).expect("JSON");
    let result = &found["results"][0];
    let node = result["node"].as_str().expect("a node");
    starts(node, "toc:segment:2024-12-29:");
    assert_eq!(result["from"], "2024-12-29T23:00:00Z");
    assert_eq!(result["project"], json!(home.project()));
    let line = result["line"].as_str().expect("a line");
    has(line, ["lock"]);
    let title = result["title"].as_str().expect("a title");
    let printed = home.ok(&["teleport", "stale", "lock"]);
    let first = format!("2024-12-29 23:00  project  {title}\n  {line}\n  {node}  grip:");
    starts(&printed, &first);
    let grip = result["grips"][0].as_str().expect("a grip");
    has(home.ok(&["grip", grip]), ["lock"]);
    fs::remove_file(log).expect("removed");
    let shown = home.ok(&["grip", grip]);
    has(&shown, ["lock", "The log is gone"]);
    let unknown = home.run(&["grip", "grip:1:none"]);
    assert_eq!(unknown.code, 1);
    has(&unknown.err, ["no grip"]);
    assert_eq!(home.run(&["teleport", "stale"]).code, 1);
}

#[test]
fn a_question_leads_to_a_paragraph_that_no_bullet_tells() {
    let home = Home::new();
    let answer = format!(
        "All of it works now.\n\n{}\n\n2. Ancestry: the walk ends at a hundred zebras, so a deep \
         herd is refused.\n\nFix: walk on.\n\nThe tests pass.",
        "1. Names: they are short.\n\n".repeat(200)
    );
    let mut log = session(&home);
    let time = |second: usize| format!("2024-12-30T09:02:{second:02}Z");
    for (at, (role, content)) in [
        ("user", json!("please review the branch")),
        ("assistant", call("Bash", &json!({ "command": "git diff" }))),
        ("assistant", text(&answer)),
        (
            "user",
            json!([{ "type": "text", "text": "[Request interrupted by user]" }]),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        log += &record(&home, 50 + at, &time(at), role, &content);
    }
    let log = home.file(&path(&home), log);
    let found = home.ok(&["teleport", "--json", "why is a deep herd refused?"]);
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let first = &found["results"][0];
    let line = first["line"].as_str().expect("a line");
    assert!(line.starts_with("2. Ancestry: the walk ends"), "{found}");
    let grips = first["grips"].as_array().expect("grips");
    let grip = grips[0].as_str().expect("a grip");
    let shown = home.ok(&["grip", grip]);
    let calls = shown.find("please review the branch\n  1 call\n");
    assert!(calls.is_some(), "{shown}");
    has(&shown, ["\n  2. Ancestry:"]);
    ends(shown.trim_end(), "[Request interrupted by user]");
    let told = home.ok(&["toc", "--log", ID]);
    has(&told, ["the person interrupted the agent"]);
    fs::remove_file(log).expect("removed");
    has(home.ok(&["grip", grip]), ["hundred zebras"]);
    let wrong = home.run(&["teleport", "--all-refs and --tags"]);
    assert_eq!(wrong.code, 2);
    has(&wrong.err, ["goes behind --"]);
}

#[test]
fn every_id_opens_also_those_of_a_session_that_goes_on_in_a_copy() {
    const COPY: &str = "33333333-3333-4444-8555-666666666666";
    let home = Home::new();
    let own = path(&home);
    home.file(&own, session(&home));
    let said = text("Added an error that names the process which holds the lock.");
    let more = record(&home, 9, "2024-12-30T09:02:00Z", "assistant", &said);
    let copy = (session(&home) + &more).replace(ID, COPY);
    home.file(&own.replace(ID, COPY), copy);
    let mut shown = Vec::new();
    for id in [ID, COPY] {
        let node = toc(&home, &["--log", id])["node"].clone();
        shown.push(node["id"].as_str().expect("an id").to_owned());
        shown.extend(ids(&node["children"]));
    }
    let found = home.ok(&["teleport", "--json", "stale lock"]);
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let nodes = found["results"].as_array().expect("results").iter();
    shown.extend(nodes.map(|one| one["node"].as_str().expect("an id").to_owned()));
    assert!(shown.len() > 6, "{shown:?}");
    for id in &shown {
        assert_eq!(toc(&home, &[id])["node"]["id"], id.as_str());
    }
}

/// The grips of all nodes of a level.
fn grips(home: &Home, level: &str) -> Vec<String> {
    let nodes = toc(home, &["--level", level]);
    let nodes = nodes["nodes"].as_array().expect("a list").iter();
    let bullets = nodes.flat_map(|node| node["bullets"].as_array().expect("bullets"));
    let grips = bullets.flat_map(|bullet| bullet["grips"].as_array().expect("grips"));
    let ids = grips.map(|id| id.as_str().expect("an id").to_owned());
    ids.collect()
}

#[test]
fn a_grip_that_was_shown_is_opened_after_the_log_grew_and_when_it_is_gone() {
    let home = Home::new();
    let said = |number: usize| {
        let time = format!("2024-12-30T09:{:02}:{:02}Z", 2 + number / 60, number % 60);
        let content = match number % 3 {
            0 => json!(format!(
                "please read part {number} of the grammar in one pass"
            )),
            1 => text(&format!(
                "Table {number} of the parser is small now. The tables are not tested."
            )),
            _ => {
                let command = format!("git commit -m 'feat(parser): read part {number}'");
                call("Bash", &json!({ "command": command }))
            }
        };
        let role = if number.is_multiple_of(3) {
            "user"
        } else {
            "assistant"
        };
        record(&home, 100 + number, &time, role, &content)
    };
    let begun: String = (0..20).map(said).collect();
    let log = home.file(&path(&home), session(&home) + &begun);
    let mut shown = grips(&home, "segment");
    shown.extend(grips(&home, "year"));
    assert!(shown.len() > 4, "{shown:?}");
    let opens = |grip: &str| -> String {
        let answer: Value =
            serde_json::from_str(&home.ok(&["grip", grip, "--json"])).expect("JSON");
        answer["state"].as_str().expect("a state").to_owned()
    };
    let grown: String = (20..1020).map(said).collect();
    fs::write(&log, session(&home) + &begun + &grown).expect("writes");
    let mut now = grips(&home, "segment");
    now.extend(grips(&home, "year"));
    assert!(
        shown.iter().any(|grip| !now.contains(grip)),
        "some are replaced"
    );
    for grip in &shown {
        assert_eq!(opens(grip), "current", "{grip}");
    }
    assert_eq!(home.run(&["grip", "lock"]).code, 1, "words are no id");
    fs::remove_file(&log).expect("removed");
    for grip in shown.iter().chain(&now) {
        assert_eq!(opens(grip), "gone", "{grip}");
    }
}

#[test]
fn events_are_listed_between_two_times_with_both_ends() {
    let home = Home::new();
    home.file(&path(&home), session(&home));
    let events = |args: &[&str]| -> Value {
        let all: Vec<&str> = ["events", "--json"].iter().chain(args).copied().collect();
        serde_json::from_str(&home.ok(&all)).expect("JSON")
    };
    let span = [
        "--from",
        "2024-12-29T23:01:00Z",
        "--to",
        "2024-12-29T23:03:00Z",
    ];
    let found = events(&span);
    let kinds: Vec<&str> = found["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["event_type"].as_str())
        .collect();
    assert_eq!(kinds, ["assistant_message", "tool_call", "tool_call"]);
    assert_eq!(found["has_more"], false);
    let few = events(&["--to", "2024-12-30", "--limit", "2"]);
    assert_eq!(
        (few["events"].as_array().map(Vec::len), &few["has_more"]),
        (Some(2), &json!(true))
    );
    assert_eq!(home.run(&["events", "--from", "soon"]).code, 2);
}

/// Settings that name a program for the summaries: a shell script.
fn summarized_by(home: &Home, script: &str) -> Vec<String> {
    let script = home.file("summarize.sh", script);
    let settings = format!("[timeline]\ncommand = [\"sh\", \"{}\"]\n", script.display());
    let settings = home.file("summarized.toml", settings);
    vec!["--config".to_owned(), settings.display().to_string()]
}

#[test]
fn a_program_sums_up_days_weeks_months_and_years_too_and_is_asked_once() {
    let home = Home::new();
    home.file(&path(&home), session(&home));
    let asked = home.path().join("asked");
    let script = format!(
        r#"input=$(cat)
printf '%s\n' "$input" | sed -n 's/.*"level":"\([a-z]*\)".*/\1/p' >> {}
line=$(printf '%s\n' "$input" | sed -n 's/.*"events":\[{{[^}}]*"line":\([0-9]*\).*/\1/p')
echo 'Here it is:'
echo '```json'
echo '{{"title":"The program said so","bullets":[{{"text":"told by the program","lines":['$line']}}]}}'
echo '```'
"#,
        asked.display()
    );
    let settings = summarized_by(&home, &script);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let show = |level: &str| {
        let args = [&settings[..], &["--level", level]].concat();
        toc(&home, &args)["nodes"].clone()
    };
    for level in ["year", "month", "week", "day", "segment"] {
        let nodes = show(level);
        for node in nodes.as_array().expect("nodes") {
            assert_eq!(node["bullets"][0]["text"], "told by the program", "{node}");
            let grip = node["bullets"][0]["grips"][0].as_str().expect("a grip");
            let args = [&["grip", "--json", grip], &settings[..]].concat();
            let opened: Value = serde_json::from_str(&home.ok(&args)).expect("JSON");
            assert_eq!(opened["state"], "current", "{opened}");
        }
    }
    let levels = std::fs::read_to_string(&asked).expect("asked");
    for level in ["segment", "day", "week", "month", "year"] {
        assert!(
            levels.lines().any(|line| line == level),
            "{level}: {levels}"
        );
    }
    show("year");
    let again = std::fs::read_to_string(&asked).expect("asked");
    assert_eq!(levels, again, "nothing is asked twice");
}

#[test]
fn a_program_that_prints_rubbish_is_named_once_and_the_built_in_answers() {
    let home = Home::new();
    home.file(&path(&home), session(&home));
    let plain = toc(&home, &["--level", "day"]);
    let settings = summarized_by(&home, "echo rubbish\n");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let args = [&["toc", "--level", "segment"], &settings[..]].concat();
    let shown = home.run(&args);
    let said = shown.err;
    assert_eq!(said.matches("summarized offline: sh:").count(), 1, "{said}");
    let args = [&["--level", "day"], &settings[..]].concat();
    let days = toc(&home, &args);
    assert_eq!(days["nodes"][0]["bullets"], plain["nodes"][0]["bullets"]);
    let note = days["nodes"][0]["note"].as_str().unwrap_or_default();
    has(note, ["it has no JSON"]);
}

#[test]
fn a_grip_is_opened_in_the_copy_that_was_kept() {
    let home = Home::new();
    let log = home.file(&path(&home), session(&home));
    let all = grips(&home, "segment");
    assert!(!all.is_empty());
    home.ok(&["keep", ID]);
    fs::remove_file(log).expect("removed");
    for grip in all {
        let shown = home.ok(&["grip", &grip, "--json"]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(shown["state"], "current", "{shown}");
        assert_eq!(
            shown["excerpt"].as_array().map(Vec::len),
            Some(1),
            "{shown}"
        );
    }
}

#[test]
fn the_status_says_what_there_is_and_what_is_out_of_date_and_makes_nothing() {
    let home = Home::new();
    let log = home.file(&path(&home), session(&home));
    let status = || {
        let text = home.ok(&["toc", "--status", "--json"]);
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let before = status();
    assert_eq!(
        (&before["sessions"], &before["outdated"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(before["nodes"]["segment"], 0);
    assert_eq!(before["written"], Value::Null);
    let grips: std::collections::BTreeSet<String> = grips(&home, "segment").into_iter().collect();
    let built = status();
    assert_eq!(built["outdated"], 0);
    assert_eq!(
        built["nodes"],
        json!({ "year": 1, "month": 1, "week": 2, "day": 2, "segment": 2 })
    );
    assert_eq!(built["events"], 7);
    assert!(
        built["grips"]
            .as_u64()
            .is_some_and(|count| count as usize >= grips.len()),
        "{built}"
    );
    assert!(built["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert!(built["written"].is_string());
    assert_eq!(built["summarizer"], "built in");
    let mut grown = fs::read_to_string(&log).expect("text");
    let said = text("The wait ends with an error that names the process which holds the lock.");
    grown.push_str(&record(
        &home,
        9,
        "2024-12-30T09:02:00Z",
        "assistant",
        &said,
    ));
    fs::write(&log, grown).expect("written");
    assert_eq!(status()["outdated"], 1);
    assert_eq!(status()["outdated"], 1, "looking makes nothing");
    let shown = home.ok(&["toc", "--status"]);
    has(&shown, ["1 out of date; tome toc"]);
    home.ok(&["toc"]);
    assert_eq!(status()["outdated"], 0);
    assert!(
        status()["former_versions"]
            .as_u64()
            .is_some_and(|count| count > 0)
    );
}

#[test]
fn days_are_those_of_the_person() {
    let home = Home::new();
    let at = |time: &str| record(&home, 1, time, "user", &text("please rename the parser"));
    // 23:30 in UTC, which is the next day further east.
    home.file(&path(&home), at("2026-03-28T23:30:00Z"));
    for (zone, day, name) in [
        ("UTC", "2026-03-28", "UTC"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29", "+01"),
        ("PST8PDT,M3.2.0,M11.1.0", "2026-03-28", "-08"),
    ] {
        let toc = |args: &[&str]| {
            let args = [&["toc", "--json"], args].concat();
            let output = home.command(&args).env("TZ", zone).output().expect("runs");
            let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            answer
        };
        let days = toc(&["--level", "day"]);
        assert_eq!(days["nodes"][0]["id"], format!("toc:day:{day}"), "{zone}");
        assert_eq!(days["nodes"][0]["zone"], name, "{zone}");
        let segment = toc(&["--level", "segment"])["nodes"][0]["id"].clone();
        let segment = segment.as_str().expect("an id").to_owned();
        assert!(segment.contains(day), "{zone}: {segment}");
        // An id from another zone still opens it.
        let other = segment.replace(day, "2026-03-27");
        assert_eq!(toc(&[&other])["node"]["level"], "segment", "{zone}");
    }
}

#[test]
fn a_wrong_bit_in_the_cache_changes_no_answer() {
    let home = Home::new();
    home.file(&path(&home), session(&home));
    let answer = || -> Vec<String> {
        let levels = ["segment", "day", "week", "year"];
        let shown = levels.map(|level| home.ok(&["toc", "--json", "--level", level]));
        shown.to_vec()
    };
    let right = answer();
    let cache = home.path().join(".cache/tome");
    let files = crate::support::tree(&cache).into_iter();
    let files: Vec<(String, Vec<u8>)> = files
        .filter(|(name, bytes)| name.starts_with("timeline") && !bytes.is_empty())
        .collect();
    assert!(!files.is_empty());
    for (name, bytes) in files {
        for turn in 0..24 {
            let mut wrong = bytes.clone();
            let at = turn * bytes.len() / 24;
            wrong[at] ^= 1 << (turn % 8);
            fs::write(cache.join(&name), &wrong).expect("written");
            assert!(answer() == right, "{name}: byte {at}");
        }
    }
}

#[test]
fn the_files_of_a_node_are_masked() {
    let home = Home::new();
    let token = ["glft", "-NiMg9aW37k5wCnHDepQH"].concat();
    let file = home.project().join(format!("{token}.txt"));
    let input = json!({ "file_path": file, "content": "x" });
    let lines = [
        ("user", json!("please write the file")),
        ("assistant", call("Write", &input)),
        ("assistant", text("The file is written now, as you asked.")),
    ];
    let lines = lines.iter().enumerate().map(|(at, (role, content))| {
        record(
            &home,
            at,
            &format!("2026-01-02T10:0{at}:00Z"),
            role,
            content,
        )
    });
    let lines: String = lines.collect();
    home.file(&path(&home), lines);
    for level in ["segment", "day", "week", "month", "year"] {
        let shown = home.ok(&["toc", "--json", "--level", level]);
        assert!(!shown.contains(&token), "{level}: {shown}");
    }
    let shown = home.ok(&["toc", "--json", "--level", "segment"]);
    assert!(shown.contains("masked"), "{shown}");
}
