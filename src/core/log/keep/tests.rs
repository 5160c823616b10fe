//! Tests of kept logs, of one form after another and of every form that has a fixture.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;

use rusqlite::Connection;

use super::*;
use crate::core::fixture::{Case, Home, case_names};
use crate::core::log::{Resume, fixture, locate, marked_id};

fn log(path: PathBuf) -> LogFile {
    LogFile {
        size: fs::metadata(&path).map_or(0, |meta| meta.len()),
        modified: Some(5),
        ..LogFile::new(Agent::Session, path, "one/../two")
    }
}

#[test]
fn a_kept_log_stands_in_for_its_original_once_that_is_gone() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let original = temp.path().join("messages.jsonl");
    fs::write(&original, "{\"role\":\"user\",\"content\":\"keep this\"}\n").expect("a file");
    let found = [log(original.clone())];
    let dir = temp.path().join("kept");
    let copy = keep(&dir, &found[0]).expect("kept");
    assert!(copy.starts_with(&dir));
    assert_eq!(kept(&dir, &found), []);
    // What was emptied is no more than the rest of it.
    fs::write(&original, "").expect("empties");
    let [copy] = kept(&dir, &[log(original.clone())])
        .try_into()
        .expect("one copy");
    assert!(copy.id.starts_with(EARLIER) && copy.id.ends_with("one/../two"));
    assert_eq!(read(&copy).expect("reads").messages[0].text, "keep this");
    fs::remove_file(&original).expect("swept");
    let stand_ins = kept(&dir, &[]);
    assert_eq!(stand_ins.len(), 1);
    let transcript = read(&stand_ins[0]).expect("reads");
    assert_eq!(transcript.messages[0].text, "keep this");
    assert_eq!(stand_ins[0].id, "one/../two");
    // What a kill left beside the description is none, and doctor names it.
    let [description] = location::entries(&dir.join(DESCRIPTIONS))
        .try_into()
        .expect("one description");
    let left = description.with_extension("json.7-0.tome.tmp");
    fs::copy(&description, &left).expect("copies");
    assert_eq!(kept(&dir, &[]), stand_ins);
    assert_eq!(strays(&dir), [left]);
}

#[test]
fn a_log_that_cannot_be_kept_holds_up_no_other() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let line = "{\"role\":\"user\",\"content\":\"keep this\"}\n";
    let of = |name: &str, text: &str, parent: Option<&str>| {
        let path = temp.path().join(name).join("messages.jsonl");
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, text).expect("writes");
        LogFile {
            id: name.to_owned(),
            parent: parent.map(str::to_owned),
            ..log(path)
        }
    };
    let main = of("main", line, None);
    let empty = of("empty", "", Some("main"));
    let broken = of("broken", "no message\n", Some("main"));
    // A session in a database has no size.
    let good = LogFile {
        size: 0,
        ..of("good", line, Some("main"))
    };
    let dir = temp.path().join("kept");
    let ids = |all: &[LogFile]| {
        let mut copies = Vec::new();
        let done = keep_session(&dir, &main, all, &mut copies);
        let ids: Vec<String> = copies.into_iter().map(|(id, _)| id).collect();
        (done.is_ok(), ids.join(" "))
    };
    assert_eq!(ids(&[empty, good.clone()]), (true, "main good".to_owned()));
    assert_eq!(ids(&[broken, good]), (false, "main good".to_owned()));
}

#[test]
fn subagents_that_only_their_logs_tell_of_are_kept_with_the_session() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let of = |id: &str, parent: &str| {
        let path = temp.path().join(format!("rollout-{id}.jsonl"));
        let meta = format!(r#"{{"type":"session_meta","payload":{{"id":"{id}"{parent}}}}}"#);
        let said = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"keep this"}]}}"#;
        fs::write(&path, format!("{meta}\n{said}\n")).expect("writes");
        LogFile {
            agent: Agent::Codex,
            id: id.to_owned(),
            ..log(path)
        }
    };
    let main = of("main", "");
    let all = [
        of("inner", r#","parent_thread_id":"outer""#),
        of("other", ""),
        of("outer", r#","parent_thread_id":"main""#),
        main.clone(),
    ];
    let mut copies = Vec::new();
    keep_session(&temp.path().join("kept"), &main, &all, &mut copies).expect("keeps");
    let ids: Vec<String> = copies.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["main", "outer", "inner"]);
}

#[test]
fn a_log_of_any_ending_is_kept() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    for name in ["messages.json", "messages.kept", "messages"] {
        let original = temp.path().join(name);
        let text = "{\"role\":\"user\",\"content\":\"keep this\"}\n";
        fs::write(&original, text).expect("a file");
        let dir = temp.path().join("kept").join(name);
        let copy = keep(&dir, &log(original)).expect("kept");
        assert_eq!(fs::read_to_string(copy).expect("reads"), text);
        assert_eq!(kept(&dir, &[]).len(), 1, "{name}");
    }
}

#[test]
fn a_copy_without_the_messages_is_none_and_a_fuller_earlier_one_stays() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let original = temp.path().join("messages.jsonl");
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let both = line("keep this") + &line("and this");
    fs::write(&original, &both).expect("a file");
    let dir = temp.path().join("kept");
    let copy = keep(&dir, &log(original.clone())).expect("kept");
    fs::write(&original, "{\"other\":1}\n").expect("writes");
    let error = keep(&dir, &log(original.clone()))
        .expect_err("refused")
        .to_string();
    assert!(error.contains("nothing was kept"), "{error}");
    let left = fs::read_dir(dir.join("session")).expect("a folder").count();
    assert_eq!(left, 1, "the copy alone");
    // What was taken out of the log is in the earlier copy, which stays beside the new one.
    fs::write(&original, line("keep this")).expect("writes");
    let other = keep(&dir, &log(original.clone())).expect("kept");
    assert_ne!(other, copy);
    assert_eq!(fs::read_to_string(&copy).expect("reads"), both);
    assert_eq!(kept(&dir, &[]).len(), 2);
    // A log that grew replaces its copy.
    fs::write(&original, both.clone() + &line("more")).expect("writes");
    let newest = keep(&dir, &log(original)).expect("kept");
    assert!(newest.exists() && other.exists() && !copy.exists());
    assert_eq!(kept(&dir, &[]).len(), 2);
    assert_eq!(strays(&dir), Vec::<PathBuf>::new());
}

#[test]
fn the_newest_copy_of_a_rewritten_session_stands_for_it_and_the_earlier_one_is_named_apart() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let original = temp.path().join("messages.jsonl");
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let dir = temp.path().join("kept");
    let mut found = Vec::new();
    for text in ["at first", "written anew"] {
        fs::write(&original, line(text)).expect("writes");
        found = vec![log(original.clone())];
        keep(&dir, &found[0]).expect("kept");
    }
    let copies = kept(&dir, &[]);
    let told: Vec<(&str, String)> = copies
        .iter()
        .map(|copy| {
            (
                copy.id.as_str(),
                texts_of(&read(copy).expect("reads")).concat(),
            )
        })
        .collect();
    let newest = told.iter().find(|(id, _)| *id == "one/../two");
    assert_eq!(newest.map(|(_, text)| text.as_str()), Some("written anew"));
    let earlier = told.iter().find(|(id, _)| id.starts_with("kept-20"));
    assert_eq!(earlier.map(|(_, text)| text.as_str()), Some("at first"));
    assert!(
        earlier.is_some_and(|(id, _)| id.ends_with("Z-one/../two")),
        "{told:?}"
    );
    // The original stands for the newest copy, not for what it no longer has.
    let beside = kept(&dir, &found);
    assert_eq!(beside.len(), 1);
    assert!(is_earlier_copy(
        &beside[0].id,
        &read(&beside[0]).expect("reads").head
    ));
}

#[test]
fn the_mark_of_a_log_is_that_of_every_copy_of_it() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let of = |project: &str| {
        let path = temp.path().join("projects").join(project).join("a.jsonl");
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, "{\"role\":\"user\",\"content\":\"keep this\"}\n").expect("writes");
        path
    };
    let [one, other] = ["-one", "-other"].map(of);
    let mark = |path: &Path| marked_id("a", path);
    for _ in 0..2 {
        let copy = keep(&temp.path().join("kept"), &log(one.clone())).expect("kept");
        assert_eq!(mark(&copy), mark(&one));
        assert_ne!(mark(&copy), mark(&other));
    }
}

#[test]
fn what_a_killed_process_left_is_removed_and_a_copy_that_was_cut_is_told() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let original = temp.path().join("messages.jsonl");
    fs::write(&original, "{\"role\":\"user\",\"content\":\"keep this\"}\n").expect("writes");
    let dir = temp.path().join("kept");
    let copy = keep(&dir, &log(original.clone())).expect("kept");
    let place = dir.join("session");
    let [dead, locked, young] = ["1-0", "2-0", "3-0"].map(|name| {
        let folder = place.join(format!("{UNFINISHED}{name}"));
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("half"), "x").expect("writes");
        folder
    });
    let old = SystemTime::now() - std::time::Duration::from_secs(600);
    for folder in [&dead, &locked] {
        let folder = private::open_dir(folder).expect("a folder");
        folder.set_modified(old).expect("a time");
    }
    let holder = private::open_dir(&locked).expect("a folder");
    holder.try_lock().expect("a lock");
    assert_eq!(
        unfinished(&dir, SystemTime::now()),
        std::slice::from_ref(&dead)
    );
    assert_eq!(strays(&dir), Vec::<PathBuf>::new());
    keep(&dir, &log(original)).expect("kept");
    assert_eq!(
        [&dead, &locked, &young].map(|left| left.exists()),
        [false, true, true]
    );
    assert!(!copy.exists(), "it was kept again");
    assert_eq!(cut(&dir), []);
    let copy = kept(&dir, &[]).remove(0);
    fs::write(&copy.path, "{").expect("cut");
    let told: Vec<(u64, u64)> = cut(&dir)
        .iter()
        .map(|(_, left, bytes)| (*left, *bytes))
        .collect();
    assert_eq!(told, [(1, copy.size)]);
    let nuls = vec![0; usize::try_from(copy.size).expect("small")];
    fs::write(&copy.path, nuls).expect("overwritten");
    assert_eq!(cut(&dir).len(), 1);
}

#[test]
fn a_copy_that_a_kill_left_without_a_description_is_removed_unless_it_has_more() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let original = temp.path().join("messages.jsonl");
    let dir = temp.path().join("kept");
    let mut made = Vec::new();
    for text in ["keep this", "and this is other"] {
        let line = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
        fs::write(&original, line).expect("writes");
        made.push(keep(&dir, &log(original.clone())).expect("kept"));
        fs::remove_dir_all(dir.join(DESCRIPTIONS)).expect("removed");
    }
    assert_eq!(strays(&dir).len(), 2);
    let newest = keep(&dir, &log(original)).expect("kept");
    let left = [&made[0], &made[1], &newest].map(|copy| copy.exists());
    assert_eq!(left, [true, false, true]);
}

#[test]
fn a_database_is_kept_with_what_only_its_log_has() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let path = temp.path().join("state.db");
    let writer = rusqlite::Connection::open(&path).expect("opens");
    let schema = "PRAGMA journal_mode=WAL;
        CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, started_at REAL, cwd TEXT, git_branch TEXT, model TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, reasoning TEXT, reasoning_content TEXT);
        INSERT INTO sessions VALUES ('s', NULL, 't', 1.0, '/repo', 'main', 'm');
        INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'keep this', 1.0);";
    writer.execute_batch(schema).expect("writes");
    let found = LogFile {
        agent: Agent::Hermes,
        id: "s".to_owned(),
        size: 0,
        ..log(path)
    };
    assert_eq!(read(&found).expect("reads").messages.len(), 1);
    let dir = temp.path().join("kept");
    keep(&dir, &found).expect("kept");
    drop(writer);
    let copy = kept(&dir, &[]).remove(0);
    assert_eq!(read(&copy).expect("reads").messages[0].text, "keep this");
}

#[test]
fn a_session_in_a_database_is_refused() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let error = keep(temp.path(), &log(temp.path().join("absent.db"))).expect_err("refused");
    assert!(error.to_string().contains("no file of its own"), "{error}");
}

/// What the agents have open while their sessions are kept.
struct Writers {
    databases: Vec<Connection>,
    files: Vec<File>,
}

/// Opens every log of a home as its agent has it open: all of a database is in its write-ahead log, and
/// rows and the last line of a file are half written.
fn open_writers(home: &Home) -> Writers {
    let mut writers = Writers {
        databases: Vec::new(),
        files: Vec::new(),
    };
    for path in home.files() {
        if is_database(&path) {
            let writer = Connection::open(&path).expect("a database");
            let open = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; VACUUM;
                BEGIN IMMEDIATE; CREATE TABLE half_written (id TEXT);";
            writer.execute_batch(open).expect("written");
            writers.databases.push(writer);
        } else if fs::read(&path).is_ok_and(|bytes| bytes.ends_with(b"}\n")) {
            let mut file = File::options().append(true).open(&path).expect("a file");
            file.write_all(b"{\"type\":\"half wri").expect("written");
            writers.files.push(file);
        }
    }
    writers
}

/// What the logs tell, by agent, id and place.
fn told(logs: &[LogFile]) -> BTreeMap<String, (Transcript, Option<Resume>)> {
    let told = logs.iter().filter_map(|log| {
        let transcript = read(log).ok()?;
        let resume = log.resume(&transcript.head);
        let path = log.original.as_ref().map_or(&log.path, |log| &log.path);
        let name = format!("{} {} in {}", log.agent.name(), log.id, path.display());
        (!transcript.messages.is_empty()).then_some((name, (transcript, resume)))
    });
    told.collect()
}

#[test]
fn every_form_of_log_is_kept_while_its_writer_has_it_open() {
    let mut agents = HashSet::new();
    let mut wrong = Vec::new();
    for case in case_names("logs") {
        let home = Case::named(&case).home;
        let writers = open_writers(&home);
        let found = locate(&fixture::case_locations(&home));
        let before = told(&found);
        let dir = tempfile::tempdir().expect("a temporary directory");
        for log in &found {
            match keep(dir.path(), log) {
                Ok(_) => drop(agents.insert(log.agent)),
                // What tells nothing is not kept.
                Err(error) => assert!(
                    told(std::slice::from_ref(log)).is_empty(),
                    "{case}: {error}"
                ),
            }
        }
        // The agents go on, and then everything of theirs is deleted.
        for writer in &writers.databases {
            writer.execute_batch("COMMIT").expect("committed");
        }
        for file in &writers.files {
            file.set_len(0).expect("cut");
        }
        drop((writers, home));
        let after = told(&kept(dir.path(), &[]));
        for (name, before) in &before {
            let after = after.get(name);
            if after != Some(before) {
                wrong.push(format!("{case}: {name}\n{before:?}\n{after:?}"));
            }
        }
        assert_eq!(before.len(), after.len(), "{case}");
        assert_eq!(strays(dir.path()), Vec::<PathBuf>::new(), "{case}");
        assert_eq!(cut(dir.path()), [], "{case}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<&str> = Agent::all()
        .filter(|agent| !agents.contains(agent))
        .map(Agent::name)
        .collect();
    assert_eq!(missing, [] as [&str; 0]);
}
