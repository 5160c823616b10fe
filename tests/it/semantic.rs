//! Finding by meaning, with a model of few words that is made here.

use crate::support::{Home, has};

const STORE: &str = "s/1";

fn settings(home: &Home) {
    home.file(
        ".config/tome/config.toml",
        "[timeline]\nmodel = \"~/model\"\n",
    );
}

/// A session store with a memory and a conversation, none of which has the word "lock".
fn session(home: &Home) -> String {
    home.file(
        &format!("{STORE}/working-memory/detail/held.md"),
        "# Held\n\nA mutex must not be held during a write.\n",
    );
    let said = [
        ("user", "please find out why the history hangs"),
        (
            "assistant",
            "The root cause is a mutex that nobody releases after a crash.",
        ),
    ];
    let lines = said.iter().enumerate().map(|(at, (role, text))| {
        let message = serde_json::json!({"role": role, "content": [{"type": "text", "text": text}]});
        let time = format!("2026-01-01T00:0{at}:00Z");
        let line = serde_json::json!({"type": "message", "id": at.to_string(), "timestamp": time, "message": message});
        format!("{line}\n")
    });
    home.file(
        &format!("{STORE}/messages.jsonl"),
        lines.collect::<String>(),
    );
    home.path().join(STORE).display().to_string()
}

#[test]
fn without_a_model_it_is_said_how_to_have_one_and_teleport_answers_by_words() {
    let home = Home::new();
    let store = session(&home);
    for args in [
        &["--store", &store, "recall", "--semantic", "mutex"][..],
        &["--store", &store, "topics"],
    ] {
        let told = home.run(args);
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{args:?}");
        assert_eq!(told.err.lines().count(), 1, "{}", told.err);
        has(&told.err, ["[timeline]"]);
    }
    let found = home.run(&["--store", &store, "teleport", "mutex"]);
    has(&found.out, ["mutex"]);
    assert_eq!((found.code, found.err.as_str()), (0, ""));
}

#[cfg(not(feature = "semantic"))]
#[test]
fn a_build_without_it_says_how_to_have_it() {
    let home = Home::new();
    let store = session(&home);
    settings(&home);
    for args in [
        &["--store", &store, "recall", "--semantic", "mutex"][..],
        &["--store", &store, "topics"],
    ] {
        has(home.fails(args), ["--features semantic"]);
    }
    let found = home.run(&["--store", &store, "teleport", "mutex"]);
    assert_eq!(found.code, 0);
    has(&found.out, ["mutex"]);
    has(&found.err, ["by words only"]);
}

#[cfg(feature = "semantic")]
mod with_models {
    use std::fs;

    use serde_json::json;

    use super::{session, settings};
    use crate::mcp::Client;
    use crate::support::{Home, RunOutput, has, json_of};

    /// Writes a model to which the words of a group mean the same.
    fn model(home: &Home, groups: &[&str]) {
        settings(home);
        let words: Vec<(usize, &str)> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, words)| words.split(' ').map(move |word| (group, word)))
            .collect();
        let mut vocabulary = json!({ "[UNK]": 0 });
        let mut table = vec![0.0_f32; groups.len()];
        for (at, (group, word)) in words.iter().enumerate() {
            vocabulary[*word] = json!(at + 1);
            table.extend((0..groups.len()).map(|one| f32::from(one == *group)));
        }
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": { "type": "Lowercase" }, "pre_tokenizer": { "type": "Whitespace" },
            "post_processor": null, "decoder": null,
            "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]" },
        });
        home.file("model/tokenizer.json", tokenizer.to_string());
        let shape = [words.len() + 1, groups.len()];
        let head = json!({ "embeddings": {
            "dtype": "F32", "shape": shape, "data_offsets": [0, table.len() * 4],
        }});
        let mut bytes = (head.to_string().len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(head.to_string().as_bytes());
        bytes.extend(table.iter().flat_map(|one| one.to_le_bytes()));
        home.file("model/model.safetensors", bytes);
        home.file("model/config.json", "{\"normalize\": true}");
    }

    const GROUPS: [&str; 3] = ["lock mutex", "quick fast", "cat feline"];

    fn recall(home: &Home, store: &str, query: &str) -> (RunOutput, Vec<String>) {
        let ran = home.run(&["--store", store, "recall", "--semantic", "--json", query]);
        let found = json_of(&ran.out);
        let results = found["results"].as_array().expect("results").iter();
        let cited = results.map(|one| one["citation"].as_str().expect("cited").to_owned());
        let cited = cited.collect();
        (ran, cited)
    }

    #[test]
    fn another_word_finds_the_memory_and_the_session() {
        let home = Home::new();
        let store = session(&home);
        model(&home, &GROUPS);
        home.finds_nothing(&["--store", &store, "recall", "lock"]);
        let (ran, cited) = recall(&home, &store, "lock");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        has(
            &cited,
            [
                &"detail/held.md#L1".to_owned(),
                &"messages.jsonl#L2".to_owned(),
            ],
        );
        let found = home.ok(&["--store", &store, "teleport", "lock"]);
        has(&found, ["mutex"]);
        let few = home.run(&["--store", &store, "topics"]);
        assert_eq!(
            (few.code, few.out.as_str()),
            (1, ""),
            "one bullet is no topic"
        );
    }

    #[test]
    fn a_question_of_an_agent_leads_there_too() {
        let home = Home::new();
        model(&home, &GROUPS);
        let said = [
            ("user", "please find out why the history hangs"),
            (
                "assistant",
                "The root cause is a mutex that nobody releases.",
            ),
        ];
        home.claude_log("s", &said);
        let mut client = Client::start(&home, "");
        let mut led = |query: &str| {
            let arguments = json!({ "query": query });
            let params = json!({ "name": "teleport_query", "arguments": arguments });
            client.ask("tools/call", params).to_string()
        };
        let found = led("lock");
        has(&found, ["nobody releases"]);
        crate::support::lacks(&found, ["by words only"]);
        fs::remove_dir_all(home.path().join("model")).expect("removed");
        let found = led("mutex");
        has(&found, ["nobody releases", "by words only"]);
    }

    #[test]
    fn a_lost_or_broken_model_and_lost_vectors_lose_no_answer() {
        let home = Home::new();
        let store = session(&home);
        model(&home, &GROUPS);
        let (_, whole) = recall(&home, &store, "lock");
        let vectors = home.path().join(".cache/tome/semantic/vectors");
        let bytes = fs::read(&vectors).expect("vectors are kept");
        fs::write(&vectors, &bytes[..bytes.len() / 2]).expect("cut");
        let (ran, cited) = recall(&home, &store, "lock");
        assert_eq!(cited, whole);
        has(&ran.err, ["was damaged"]);
        assert_eq!(recall(&home, &store, "lock").0.err, "");

        model(&home, &["lock mutex cat", "quick fast", "owl"]);
        let (ran, cited) = recall(&home, &store, "lock");
        assert_eq!(cited, whole);
        has(&ran.err, ["another one"]);
        assert_eq!(recall(&home, &store, "lock").0.err, "");

        // A table with fewer rows than the tokenizer has words.
        let table = home.path().join("model/model.safetensors");
        let head = "{\"embeddings\":{\"dtype\":\"F32\",\"shape\":[1,3],\"data_offsets\":[0,12]}}";
        let mut small = (head.len() as u64).to_le_bytes().to_vec();
        small.extend_from_slice(head.as_bytes());
        small.extend([0; 12]);
        for broken in [&small[..], &small[..20], b""] {
            fs::write(&table, broken).expect("written");
            let (ran, cited) = recall(&home, &store, "mutex");
            assert_eq!(ran.code, 0, "{ran:?}");
            assert_eq!(cited.len(), 2, "{cited:?}");
            crate::support::lacks(&ran.err, ["panicked"]);
        }
        fs::remove_dir_all(home.path().join("model")).expect("removed");
        let (ran, cited) = recall(&home, &store, "mutex");
        assert_eq!((ran.code, cited.len()), (0, 2));
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        has(&ran.err, ["by words only"]);
        let found = home.run(&["--store", &store, "teleport", "mutex"]);
        assert_eq!(found.code, 0);
        has(&found.err, ["by words only"]);
        home.fails(&["--store", &store, "topics"]);
    }
}
