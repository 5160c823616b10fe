//! Tests of the corpus as a whole: what it holds after any changes, damage and failures.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::core::disk::foreign::LONGEST_RECORD;
use crate::core::log::{self, Agent};
use crate::core::search::query::Filters;
use crate::core::search::score::Rarity;

/// A directory of logs and a cache, with a clock that advances with every change.
struct TestCache {
    root: TempDir,
    now: i64,
}

impl TestCache {
    fn new() -> Self {
        let root = TempDir::new().expect("a temporary directory can be made");
        Self { root, now: 0 }
    }

    fn cache(&self) -> PathBuf {
        self.root.path().join("cache")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Changes the file's bytes, and lists it with a new modification time.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> LogFile {
        let path = self.path(name);
        let mut bytes = fs::read(&path).unwrap_or_default();
        let before = bytes.len();
        change(&mut bytes);
        if bytes.len() >= before && before > 0 {
            // Like an agent: the file grows in place.
            let mut file = fs::OpenOptions::new()
                .write(true)
                .open(&path)
                .expect("it is there");
            file.write_all(&bytes).expect("it can be written");
        } else {
            fs::write(&path, &bytes).expect("it can be written");
        }
        self.now += 1;
        self.list(name)
    }

    fn list(&self, name: &str) -> LogFile {
        let path = self.path(name);
        LogFile {
            size: fs::metadata(&path).map_or(0, |metadata| metadata.len()),
            modified: Some(self.now),
            ..LogFile::new(Agent::ClaudeCode, path, name)
        }
    }

    fn refresh(&self, logs: &[LogFile]) -> Corpus {
        let now = ReadResults::Now;
        Corpus::refresh(&self.cache(), logs, now, &()).expect("the corpus can be built")
    }

    fn refresh_without_results(&self, logs: &[LogFile]) -> Corpus {
        let later = ReadResults::Later;
        Corpus::refresh(&self.cache(), logs, later, &()).expect("the corpus can be built")
    }
}

/// Returns all files of the cache that have content, in order.
fn files_of(home: &TestCache) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(home.cache()).sort_by_file_name();
    let files = files.into_iter().flatten().filter(|entry| {
        let metadata = entry.metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
    });
    files.map(walkdir::DirEntry::into_path).collect()
}

fn prompt(text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string is JSON");
    format!(
        r#"{{"type":"user","uuid":"u{0}","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","sessionId":"s","message":{{"role":"user","content":{text}}}}}"#,
        text.len()
    ) + "\n"
}

fn result(text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string is JSON");
    format!(
        r#"{{"type":"user","uuid":"r","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{text}}}]}}}}"#
    ) + "\n"
}

fn reply(text: &str) -> String {
    let text = serde_json::to_string(text).expect("a string is JSON");
    format!(
        r#"{{"type":"assistant","uuid":"a","message":{{"id":"m1","role":"assistant","content":[{{"type":"thinking","thinking":"hm {0}"}},{{"type":"text","text":{text}}},{{"type":"tool_use","name":"Bash","input":{{"command":{text}}}}}]}}}}"#,
        text.len()
    ) + "\n"
}

/// Returns the messages of a part of a log, in order, as [`shown`].
fn messages_of(corpus: &Corpus, log: usize, part: Part) -> Vec<String> {
    let messages = corpus.messages(log, &[part]).into_iter();
    let messages = messages.filter_map(|at| corpus.message(at, |message| shown(*message)));
    messages.collect()
}

/// Returns all that the corpus knows of a message.
fn shown(message: CorpusMessage<'_>) -> String {
    format!("{message:?}")
}

/// Returns the lines of the messages of a part that have a folded word, in order.
fn lines_with(corpus: &Corpus, part: Part, word: &str) -> Vec<u64> {
    let logs = vec![true; corpus.logs().len()];
    let filter = MessageFilter {
        logs: &logs,
        filters: &Filters::default(),
    };
    let wanted = [WantedWord::Any(vec![word.to_owned()])];
    let found = corpus.look_up(&wanted, &[part]);
    let found = corpus.with_all(&found, filter, usize::MAX).first;
    let mut lines: Vec<u64> = found.into_iter().map(|at| corpus.line(at)).collect();
    lines.sort_unstable();
    lines
}

/// Compares the corpus with the transcripts of the logs that can be read.
fn check(corpus: &Corpus, logs: &[LogFile]) -> Result<(), TestCaseError> {
    let read = logs
        .iter()
        .filter_map(|log| Some((log, log::read(log).ok()?)));
    let mut count = 0;
    for (log, transcript) in read {
        count += 1;
        let found = corpus.logs().position(|one| one.path() == log.path);
        prop_assert!(found.is_some(), "{} is missing", log.path.display());
        let found = found.unwrap_or_default();
        for part in Part::ALL {
            let row = &corpus.table.logs[corpus.shown[found]];
            let is_read = part != Part::Results || row.has_results;
            let all = transcript.messages.iter();
            let expected: Vec<String> = all
                .filter(|message| is_read && Part::of(message.kind) == part)
                .map(|message| CorpusMessage {
                    log: found,
                    ..CorpusMessage::of(message)
                })
                .map(shown)
                .collect();
            prop_assert_eq!(messages_of(corpus, found, part), expected);
        }
        let one = corpus.log(found).expect("it was found");
        prop_assert_eq!(one.turns(), transcript.head.turns);
        prop_assert_eq!(one.cwd(), transcript.head.cwd.as_deref());
        let facts = one.facts();
        prop_assert_eq!(facts, Some((transcript.head, transcript.skipped)));
    }
    prop_assert_eq!(corpus.logs().len(), count);
    check_index(corpus)?;
    prop_assert!(!corpus.is_damaged());
    Ok(())
}

/// Compares the index with the words of all messages.
fn check_index(corpus: &Corpus) -> Result<(), TestCaseError> {
    for part in Part::ALL {
        let mut expected: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        expected.insert("absent".to_owned(), Vec::new());
        for log in 0..corpus.logs().len() {
            for at in corpus.messages(log, &[part]) {
                let read = corpus.message(at, |message| {
                    let mut words = index_words(message.text);
                    words.sort_unstable();
                    words.dedup();
                    for word in words {
                        expected.entry(word).or_default().push(message.line);
                    }
                });
                prop_assert!(read.is_some());
            }
        }
        for (word, mut lines) in expected {
            lines.sort_unstable();
            prop_assert_eq!(lines_with(corpus, part, &word), lines, "{}", &word);
        }
    }
    Ok(())
}

fn assert_right(corpus: &Corpus, logs: &[LogFile]) {
    check(corpus, logs).expect("the corpus is what the logs say");
}

#[derive(Debug, Clone)]
enum Step {
    Append(usize, Vec<String>),
    Cut(usize, prop::sample::Index),
    Rewrite(usize, Vec<String>),
    Remove(usize),
    Compress(usize),
    ForgetCache,
}

fn record() -> impl Strategy<Value = String> {
    let text = "[a-zA-Z äé数\"\\\\\n\u{1b}]{1,60}";
    prop_oneof![
        4 => text.prop_map(|text| prompt(&text)),
        4 => text.prop_map(|text| reply(&text)),
        4 => text.prop_map(|text| result(&text)),
        1 => "[a-z]{1,8}".prop_map(|title| format!(r#"{{"type":"ai-title","aiTitle":"{title}"}}"#) + "\n"),
        1 => Just("\n".to_owned()),
        1 => Just("{\"type\":\"user\",\"mess\n".to_owned()),
        1 => text.prop_map(|text| prompt(&text).trim_end().to_owned()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let records = || prop::collection::vec(record(), 1..6);
    prop_oneof![
        6 => (0usize..3, records()).prop_map(|(log, records)| Step::Append(log, records)),
        2 => (0usize..3, any::<prop::sample::Index>()).prop_map(|(log, at)| Step::Cut(log, at)),
        1 => (0usize..3, records()).prop_map(|(log, records)| Step::Rewrite(log, records)),
        1 => (0usize..3).prop_map(Step::Remove),
        1 => (0usize..3).prop_map(Step::Compress),
        1 => Just(Step::ForgetCache),
    ]
}

fn take(home: &mut TestCache, names: &mut [String; 3], step: Step) -> Option<LogFile> {
    match step {
        Step::Append(log, records) if !names[log].ends_with(".zst") => {
            let all = records.concat();
            Some(home.change(&names[log], |bytes| bytes.extend_from_slice(all.as_bytes())))
        }
        Step::Cut(log, at) => Some(home.change(&names[log], |bytes| {
            if !bytes.is_empty() {
                bytes.truncate(at.index(bytes.len()));
            }
        })),
        Step::Rewrite(log, records) if !names[log].ends_with(".zst") => {
            Some(home.change(&names[log], |bytes| *bytes = records.concat().into_bytes()))
        }
        Step::Remove(log) => {
            // It may not exist.
            let _ = fs::remove_file(home.path(&names[log]));
            None
        }
        Step::Compress(log) if !names[log].ends_with(".zst") => {
            let old = home.path(&names[log]);
            let bytes = fs::read(&old).ok()?;
            names[log].push_str(".zst");
            let packed = zstd::encode_all(bytes.as_slice(), 1).expect("memory is enough");
            fs::remove_file(old).expect("it is there");
            Some(home.change(&names[log], |bytes| *bytes = packed))
        }
        Step::ForgetCache => {
            // It may not exist.
            let _ = fs::remove_dir_all(home.cache());
            None
        }
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn after_any_changes_the_corpus_is_what_a_fresh_reading_gives(
        steps in prop::collection::vec((step(), any::<bool>()), 1..14),
    ) {
        let mut home = TestCache::new();
        let mut names = ["a.jsonl", "b.jsonl", "c.jsonl"].map(str::to_owned);
        let mut logs: Vec<LogFile> = Vec::new();
        for (step, is_later) in steps {
            if let Some(log) = take(&mut home, &mut names, step) {
                logs.retain(|known| known.id.trim_end_matches(".zst") != log.id.trim_end_matches(".zst"));
                logs.push(log);
            }
            logs.retain(|log| log.path.exists());
            let corpus = if is_later { home.refresh_without_results(&logs) } else { home.refresh(&logs) };
            check(&corpus, &logs)?;
            prop_assert!(is_later || corpus.logs_without_results() == 0);
            let opened = Corpus::open(&home.cache());
            if !logs.is_empty() {
                check(&opened.expect("it was just built"), &logs)?;
            }
        }
    }

    #[test]
    fn the_index_has_every_word_of_any_text(
        texts in prop::collection::vec("\\PC{0,200}", 1..20),
    ) {
        let mut home = TestCache::new();
        let all: String = texts.iter().map(|text| prompt(text) + &result(text)).collect();
        let log = home.change("a.jsonl", |bytes| *bytes = all.into_bytes());
        check_index(&home.refresh(&[log]))?;
    }

    #[test]
    fn a_damaged_cache_is_never_a_panic_and_is_repaired(
        file in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut home = TestCache::new();
        let text = prompt("first words") + &reply("an answer") + &result("some output");
        let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
        let logs = [log];
        drop(home.refresh(&logs));
        let files = files_of(&home);
        let path = &files[file.index(files.len())];
        let mut bytes = fs::read(path).expect("it is there");
        if !bytes.is_empty() {
            for (at, bit) in flips {
                let at = at.index(bytes.len());
                bytes[at] ^= 1u8 << bit;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
        }
        fs::write(path, bytes).expect("it can be written");
        if let Some(corpus) = Corpus::open(&home.cache()) {
            for part in Part::ALL {
                lines_with(&corpus, part, "words");
                messages_of(&corpus, 0, part);
            }
            corpus.logs().for_each(|log| drop(log.facts()));
        }
        check(&home.refresh(&logs), &logs)?;
    }
}

#[test]
fn results_are_added_to_logs_that_were_read_without_them() {
    let mut home = TestCache::new();
    let old = prompt("a question") + &result("some output") + &reply("an answer");
    let tail = result("more output").trim_end().to_owned();
    let a = home.change("a.jsonl", |bytes| {
        *bytes = (old.clone() + &tail).into_bytes()
    });
    let b = home.change("b.jsonl", |bytes| *bytes = old.clone().into_bytes());
    let texts =
        |corpus: &Corpus, log: usize| Part::ALL.map(|part| messages_of(corpus, log, part).len());
    let light = home.refresh_without_results(&[a.clone(), b.clone()]);
    assert_eq!(light.logs_without_results(), 2);
    assert_eq!([texts(&light, 0), texts(&light, 1)], [[3, 1, 0]; 2]);
    light.note_search(Part::Calls);
    assert!(!light.misses_results());
    light.note_search(Part::Results);
    assert!(light.misses_results());
    // One that has grown is still without them.
    let b = home.change("b.jsonl", |bytes| bytes.extend_from_slice(old.as_bytes()));
    let logs = [a, b];
    assert_eq!(
        home.refresh_without_results(&logs).logs_without_results(),
        2
    );
    let whole = home.refresh(&logs);
    assert_right(&whole, &logs);
    assert_eq!([texts(&whole, 0), texts(&whole, 1)], [[3, 1, 2], [6, 2, 2]]);
    // A new one is read with them, because all others have them.
    let c = home.change("c.jsonl", |bytes| *bytes = old.into_bytes());
    let [a, b] = logs;
    let more = home.refresh_without_results(&[a, b, c]);
    assert_eq!(more.logs_without_results(), 0);
    assert_eq!(texts(&more, 2), [3, 1, 1]);
}

#[test]
fn a_log_that_has_grown_is_not_read_from_its_beginning() {
    let mut home = TestCache::new();
    let old: String = (0..200)
        .map(|n| prompt(&format!("prompt number {n}")))
        .collect();
    let log = home.change("a.jsonl", |bytes| *bytes = old.clone().into_bytes());
    home.refresh(&[log]);
    // Far from both ends, where only reading the whole log would detect it.
    let log = home.change("a.jsonl", |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 400].fill(b'x');
        bytes.extend_from_slice(prompt("the new one").as_bytes());
    });
    let corpus = home.refresh(&[log]);
    let messages = messages_of(&corpus, 0, Part::Words);
    assert_eq!(messages.len(), 201);
    assert!(messages[99].contains("\"prompt number 99\""));
    assert!(messages[200].contains("\"the new one\""));
}

#[test]
fn a_prompt_that_waits_at_the_end_is_found_once_before_and_after_it_is_read() {
    let mut home = TestCache::new();
    let queue = |operation: &str, more: &str| {
        format!(r#"{{"type":"queue-operation","operation":"{operation}"{more}}}"#) + "\n"
    };
    let begun = prompt("begin") + &queue("enqueue", r#","content":"waits""#);
    let ended = begun.clone() + &queue("dequeue", "") + &prompt("waits");
    for text in [begun, ended] {
        let logs = [home.change("a.jsonl", |bytes| *bytes = text.into_bytes())];
        let corpus = home.refresh(&logs);
        let messages = messages_of(&corpus, 0, Part::Words);
        let waiting = messages.iter().filter(|text| text.contains("\"waits\""));
        assert_eq!((messages.len(), waiting.count()), (2, 1));
        assert_eq!(corpus.log(0).map(|log| log.turns()), Some(2));
    }
}

#[test]
fn a_log_that_was_replaced_by_a_longer_one_is_read_again() {
    let mut home = TestCache::new();
    let old: String = (0..200)
        .map(|n| prompt(&format!("prompt number {n}")))
        .collect();
    let log = home.change("a.jsonl", |bytes| *bytes = old.clone().into_bytes());
    home.refresh(&[log]);
    let new = old.replace("number 100", "Nummer 100") + &prompt("the new one");
    fs::write(home.path("b"), new).expect("it can be written");
    fs::rename(home.path("b"), home.path("a.jsonl")).expect("it can be moved");
    let logs = [home.change("a.jsonl", |_| {})];
    assert_right(&home.refresh(&logs), &logs);
}

#[test]
fn a_log_that_vanishes_after_it_was_listed_is_left_out() {
    let mut home = TestCache::new();
    let kept = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
    let gone = home.change("b.jsonl", |bytes| *bytes = prompt("two").into_bytes());
    fs::remove_file(&gone.path).expect("it is there");
    let corpus = home.refresh(&[kept.clone(), gone]);
    assert_right(&corpus, &[kept]);
    assert!(corpus.unread.is_empty());
}

#[test]
fn a_log_that_is_compressed_after_it_was_listed_is_read_all_the_same() {
    let mut home = TestCache::new();
    let text = prompt("words") + &result("output");
    let log = home.change("a.jsonl", |bytes| *bytes = text.clone().into_bytes());
    let packed = zstd::encode_all(text.as_bytes(), 1).expect("memory is enough");
    fs::write(home.path("a.jsonl.zst"), packed).expect("it can be written");
    fs::remove_file(&log.path).expect("it is there");
    let logs = [log];
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    assert_eq!(messages_of(&corpus, 0, Part::Results).len(), 1);
}

#[test]
fn a_log_that_cannot_be_read_is_named_and_left_out() {
    let mut home = TestCache::new();
    let good = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
    fs::create_dir(home.path("b.jsonl")).expect("it can be made");
    let bad = home.list("b.jsonl");
    let corpus = home.refresh(&[good.clone(), bad.clone()]);
    assert_right(&corpus, &[good]);
    let [error] = corpus.unread.as_slice() else {
        panic!("one log is unread, not {:?}", corpus.unread);
    };
    assert!(error.to_string().contains("b.jsonl"), "{error}");
}

#[test]
fn a_record_that_is_too_long_costs_only_itself_and_is_told() {
    let mut home = TestCache::new();
    let mut bytes = prompt("one").into_bytes();
    bytes.resize(bytes.len() + LONGEST_RECORD, b' ');
    let start = bytes.len();
    bytes.extend_from_slice(b"\n");
    bytes.extend_from_slice(prompt("two").as_bytes());
    // Another one, without a line break, at the end.
    bytes.resize(bytes.len() + 2 * LONGEST_RECORD, 0);
    let log = home.change("a.jsonl", |old| *old = bytes.clone());
    let logs = [log];
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    let lines = |corpus: &Corpus| {
        let messages = corpus.messages(0, &[Part::Words]).into_iter();
        messages.map(|at| corpus.line(at)).collect::<Vec<_>>()
    };
    assert_eq!(lines(&corpus), [1, 3]);
    let skipped = |corpus: &Corpus| {
        let facts = corpus.log(0).and_then(|log| log.facts());
        facts.expect("sound").1.too_long
    };
    assert_eq!(skipped(&corpus), 2);
    let [note] = corpus.notes.as_slice() else {
        panic!("{:?}", corpus.notes);
    };
    assert!(
        note.contains("a.jsonl: 2 of its records are longer than 32 MB"),
        "{note}"
    );
    // Reading continues after it, also if only its end is new.
    let log = home.change("a.jsonl", |old| {
        old.push(b'\n');
        old.extend_from_slice(prompt("three").as_bytes());
    });
    let logs = [log];
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    assert_eq!((lines(&corpus), skipped(&corpus)), (vec![1, 3, 5], 2));
    assert!(start > LONGEST_RECORD);
}

#[test]
fn files_that_shrink_while_they_are_read_are_never_wrong_text_and_are_rebuilt() {
    let mut home = TestCache::new();
    let words = |n: usize| format!("answer number {n} {}", "padding ".repeat(400));
    let text: String = (0..400)
        .map(|n| reply(&words(n)) + &result(&words(n)))
        .collect();
    let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
    let logs = [log];
    let whole = home.refresh(&logs);
    let all = Part::ALL.map(|part| messages_of(&whole, 0, part));
    drop(whole);
    /// The length to which a file is cut.
    const CUT: u64 = 20;
    let is_mapped = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(
            ending,
            Some("store" | "idx" | "term" | "fast" | "pos" | "fieldnorm")
        )
    };
    let mapped = |home: &TestCache| {
        let files = files_of(home).into_iter();
        files.filter(is_mapped).collect::<Vec<PathBuf>>()
    };
    let count = mapped(&home).len();
    assert!(count >= 6, "{:?}", mapped(&home));
    for file in 0..count {
        let corpus = home.refresh(&logs);
        let path = &mapped(&home)[file];
        let open = fs::OpenOptions::new().write(true).open(path);
        open.and_then(|file| file.set_len(CUT)).expect("cut");
        for (part, all) in Part::ALL.into_iter().zip(&all) {
            lines_with(&corpus, part, "answer");
            let found = messages_of(&corpus, 0, part);
            assert!(found.iter().all(|message| all.contains(message)));
        }
        assert_right(&home.refresh(&logs), &logs);
    }
}

#[test]
fn logs_that_were_not_listed_are_hidden_and_stay_cached() {
    struct Never;
    impl Progress for Never {
        fn advance(&self, tally: BuildProgress) {
            panic!("nothing is to be read, but {tally:?}");
        }
    }
    let mut home = TestCache::new();
    let a = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
    let b = home.change("b.jsonl", |bytes| *bytes = prompt("two").into_bytes());
    let all = [a.clone(), b];
    home.refresh(&all);
    let some = std::slice::from_ref(&a);
    let one = Corpus::refresh(&home.cache(), some, ReadResults::Now, &Never);
    assert_right(&one.expect("it can be opened"), some);
    let both = Corpus::refresh(&home.cache(), &all, ReadResults::Now, &Never);
    assert_right(&both.expect("it can be opened"), &all);
}

#[test]
fn deleting_the_cache_during_a_build_changes_nothing_but_time() {
    struct Deletes(PathBuf);
    impl Progress for Deletes {
        fn advance(&self, _: BuildProgress) {
            // Fails the second time, when there is nothing to delete.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
    let mut home = TestCache::new();
    let log = home.change("a.jsonl", |bytes| *bytes = prompt("words").into_bytes());
    let logs = [log];
    let corpus = Corpus::refresh(
        &home.cache(),
        &logs,
        ReadResults::Now,
        &Deletes(home.cache()),
    );
    assert_right(&corpus.expect("it can be built"), &logs);
    assert_right(&home.refresh(&logs), &logs);
}

#[test]
fn several_builders_and_readers_at_once_all_see_whole_logs() {
    let assert_whole = |corpus: &Corpus| {
        for (at, log) in corpus.logs().enumerate() {
            let messages = messages_of(corpus, at, Part::Words);
            assert_eq!(messages.len(), 40, "{}", log.id());
        }
    };
    let assert_whole = &assert_whole;
    let mut home = TestCache::new();
    let logs: Vec<LogFile> = (0..12)
        .map(|n| {
            let text: String = (0..40)
                .map(|m| prompt(&format!("log {n} line {m}")))
                .collect();
            home.change(&format!("{n}.jsonl"), |bytes| *bytes = text.into_bytes())
        })
        .collect();
    std::thread::scope(|scope| {
        for some in logs.chunks(6).chain(logs.chunks(4)) {
            let home = &home;
            // While another one builds, the last commit is taken, which may not have all logs.
            scope.spawn(move || assert_whole(&home.refresh(some)));
        }
        scope.spawn(|| {
            for corpus in (0..50).filter_map(|_| Corpus::open(&home.cache())) {
                assert_whole(&corpus);
            }
        });
    });
    assert_right(&home.refresh(&logs), &logs);
}

#[test]
fn without_a_cache_that_can_be_written_the_logs_are_read_all_the_same() {
    let mut home = TestCache::new();
    let text = prompt("first words") + &reply("an answer") + &result("some output");
    let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
    let logs = [log];
    // A file in place of the directory, which even root cannot write into.
    fs::write(home.cache(), "in the way").expect("it can be written");
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    let why = corpus
        .cache_error
        .as_ref()
        .expect("it is not kept")
        .to_string();
    assert!(why.contains("cache"), "{why}");
    assert!(Corpus::open(&home.cache()).is_none());
    fs::remove_file(home.cache()).expect("it is there");
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    assert!(corpus.cache_error.is_none());
}

#[test]
fn a_commit_that_cannot_be_written_costs_no_words() {
    let mut home = TestCache::new();
    let old = home.change("a.jsonl", |bytes| *bytes = prompt("old").into_bytes());
    home.refresh(&[old]);
    let logs = [home.change("a.jsonl", |b| b.extend_from_slice(prompt("new").as_bytes()))];
    // A directory in the place of the next table, which fails as on a full disk.
    let table = home.cache().join("logs.2");
    fs::create_dir_all(table.join("x")).expect("it can be made");
    drop(Corpus::open(&home.cache()));
    let before = files_of(&home).len();
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    assert!(corpus.cache_error.is_some());
    assert_eq!(
        files_of(&home).len(),
        before,
        "what is of no use is left behind"
    );
    fs::remove_dir_all(table).expect("it is there");
    assert_right(&home.refresh(&logs), &logs);
}

#[test]
fn while_another_builds_the_last_corpus_is_taken_and_it_is_told() {
    let mut home = TestCache::new();
    let old = home.change("a.jsonl", |bytes| *bytes = prompt("old").into_bytes());
    home.refresh(&[old]);
    let lock = fs::File::create(home.cache().join("lock")).expect("it can be opened");
    lock.lock().expect("it is free");
    let new = home.change("a.jsonl", |b| b.extend_from_slice(prompt("new").as_bytes()));
    let logs = [new];
    let corpus = home.refresh(&logs);
    assert_eq!(messages_of(&corpus, 0, Part::Words).len(), 1);
    let told = corpus.problems().concat();
    assert!(told.contains("(1) are searched as they were"), "{told}");
    drop(lock);
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    assert_eq!(corpus.problems(), Vec::<String>::new());
}

/// A machine on which each log takes a while.
struct Slow;

impl Progress for Slow {
    fn advance(&self, _: BuildProgress) {
        std::thread::sleep(Duration::from_millis(700));
    }
}

#[test]
fn who_waited_for_another_in_vain_reads_for_a_while_and_tells_what_is_left() {
    let mut home = TestCache::new();
    let logs: Vec<LogFile> = (0..12)
        .map(|number| {
            home.change(&format!("{number}.jsonl"), |b| {
                *b = prompt("x").into_bytes()
            })
        })
        .collect();
    fs::create_dir(home.cache()).expect("a folder");
    let lock = fs::File::create(home.cache().join("lock")).expect("it can be opened");
    lock.lock().expect("it is free");
    let corpus =
        Corpus::refresh(&home.cache(), &logs, ReadResults::Now, &Slow).expect("some of them");
    assert!(corpus.logs().len() < logs.len());
    assert_eq!(corpus.left(), 0, "who asks again waits as long");
    let told = corpus.problems().concat();
    assert!(
        told.contains("logs that were not read in time") && told.contains("another tome"),
        "{told}"
    );
}

#[test]
fn what_belongs_to_no_log_any_more_does_not_pile_up() {
    let mut home = TestCache::new();
    let kept = home.change("kept.jsonl", |bytes| *bytes = prompt("kept").into_bytes());
    let mut sizes = Vec::new();
    let mut old = None;
    for round in 0..8 {
        let text: String = (0..700)
            .map(|n| prompt(&format!("{round} {n} ").repeat(100)))
            .collect();
        let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
        let logs = [kept.clone(), log];
        let corpus = home.refresh(&logs);
        assert_right(&corpus, &logs);
        let files = files_of(&home).into_iter();
        let bytes = files.filter_map(|path| Some(fs::metadata(path).ok()?.len()));
        sizes.push(bytes.sum());
        // A reader keeps its old snapshot.
        old.get_or_insert(corpus);
    }
    let first: u64 = sizes[0];
    assert!(sizes.iter().all(|size| *size < 4 * first), "{sizes:?}");
    let old = old.expect("there was a first one");
    assert_eq!(messages_of(&old, 1, Part::Words).len(), 700);
}

#[test]
fn a_log_that_grows_line_by_line_leaves_few_segments() {
    let mut home = TestCache::new();
    let mut logs = Vec::new();
    for n in 0..100 {
        let line = prompt(&format!("line {n}"));
        logs = vec![home.change("a.jsonl", |bytes| bytes.extend_from_slice(line.as_bytes()))];
        home.refresh(&logs);
    }
    let corpus = home.refresh(&logs);
    assert_right(&corpus, &logs);
    let segments = corpus.searcher.segment_readers().len();
    assert!(segments <= 8, "{segments} segments");
}

#[test]
fn results_are_in_segments_of_their_own_also_after_merges() {
    let mut home = TestCache::new();
    let log = |home: &mut TestCache, number: usize| {
        home.change("a.jsonl", |bytes| {
            bytes.extend((prompt(&format!("said {number}")) + &result("read")).into_bytes());
        })
    };
    let mut corpus = home.refresh(&[]);
    for number in 0..40 {
        let listed = log(&mut home, number);
        corpus = home.refresh(&[listed]);
    }
    let readers = corpus.searcher.segment_readers();
    assert!(readers.len() < 20, "{}", readers.len());
    for reader in readers {
        let has = |part| lookup::may_have(reader, part).expect("readable");
        assert_ne!(has(Part::Words), has(Part::Results));
    }
    assert_eq!(messages_of(&corpus, 0, Part::Results).len(), 40);
}

#[test]
fn what_a_build_that_did_not_finish_left_is_removed_by_the_next_one() {
    let mut home = TestCache::new();
    let log = home.change("a.jsonl", |bytes| *bytes = prompt("one").into_bytes());
    drop(home.refresh(&[log]));
    let left = home.cache().join("logs.77");
    fs::write(&left, "half a table").expect("it can be written");
    let line = prompt("two");
    let log = home.change("a.jsonl", |bytes| bytes.extend_from_slice(line.as_bytes()));
    let corpus = home.refresh(std::slice::from_ref(&log));
    assert_right(&corpus, &[log]);
    assert!(!left.exists());
}

#[test]
fn what_was_said_stands_side_by_side_whatever_was_done_between() {
    let mut home = TestCache::new();
    let text: String = (0..6)
        .map(|n| reply(&format!("migration number {n}")) + &result("output"))
        .collect();
    let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
    let corpus = home.refresh(&[log]);
    let words = corpus.messages(0, &[Part::Words]);
    let numbers: Vec<u32> = words.iter().map(|at| at.number).collect();
    assert!(
        numbers.windows(2).all(|two| two[1] == two[0] + 1),
        "{words:?}"
    );
}

#[test]
fn the_best_messages_come_with_their_neighbours_and_counts() {
    let mut home = TestCache::new();
    let said = [
        "before",
        "rotate rotate keys",
        "after",
        "far away",
        "rotated once",
    ];
    let text: String = said.iter().map(|text| prompt(text)).collect();
    let log = home.change("a.jsonl", |bytes| *bytes = text.into_bytes());
    let corpus = home.refresh(&[log]);
    let beginnings = ["rotat".to_owned()];
    let wanted = [WantedWord::Forms(WantedForms {
        word: "rotate",
        beginnings: &beginnings,
        is_form: Box::new(|word| word.starts_with("rotat")),
    })];
    let found = corpus.look_up(&wanted, &[Part::Words]);
    assert_eq!(found.counts, [2]);
    let filter = MessageFilter {
        logs: &[true],
        filters: &Filters::default(),
    };
    let rarity = Rarity::new(&found.counts, 10_000);
    let runs = corpus.rank(&found, filter, &rarity, (1, (1, 1)));
    let [run] = runs.as_slice() else {
        panic!("one run, not {runs:?}");
    };
    let lines: Vec<u64> = run.iter().map(|message| corpus.line(message.at)).collect();
    assert_eq!(lines, [1, 2, 3]);
    let times: Vec<u32> = run.iter().map(|message| message.counts[0].times).collect();
    assert_eq!(times, [0, 2, 0]);
    assert!(run[1].counts[0].is_exact);
}
