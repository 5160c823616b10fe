//! The gRPC server: a client that is made from what the server reflects calls every method of it.

mod client;
#[allow(dead_code)]
#[path = "../it/support.rs"]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::future::Future;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};
use tonic::{Code, Status};
use ulid::Ulid;

use client::{Client, Server, services};
use support::Home;
use tome::grpc::Address;

const TIMELINE: &str = "tome.v1.Timeline";

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(work)
}

/// An event of a session about uploads, so many minutes after its beginning.
fn event(number: i64, event_type: &str, text: &str) -> Value {
    let time = 1_705_312_800_000 + number * 60_000;
    let id = Ulid::from_parts(time.unsigned_abs(), u128::from(number.unsigned_abs()));
    json!({
        "event_id": id.to_string(),
        "session_id": "uploads",
        "timestamp_ms": time,
        "event_type": event_type,
        "text": text,
        "agent": "test-agent",
    })
}

fn session() -> Vec<Value> {
    let said = [
        ("session_start", ""),
        (
            "user_message",
            "Fix the retry loop of the uploader, it never stops after a timeout.",
        ),
        (
            "assistant_message",
            "I found the cause: the uploader resets its retry counter after every timeout.",
        ),
        (
            "user_message",
            "Always keep the retry counter across timeouts, and cap it at five.",
        ),
        (
            "assistant_message",
            "The retry counter is now kept across timeouts and capped at five.",
        ),
        (
            "assistant_stop",
            "Done: the uploader stops after five retries.",
        ),
    ];
    let events = said.iter().zip(0..);
    events
        .map(|((kind, text), at)| event(at, kind, text))
        .collect()
}

async fn ingest(client: &Client, event: Value) -> Result<Value, Status> {
    client.call("IngestEvent", json!({ "event": event })).await
}

/// The stores of events, and the ids in them, in the order of the lines.
fn stored(home: &Home) -> Vec<(PathBuf, Vec<String>)> {
    let folder = home.path().join(".local/share/tome/events");
    let mut stores: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("readable").path())
        .collect();
    stores.sort();
    let ids = |store: &Path| -> Vec<String> {
        let text = fs::read_to_string(store.join("events.jsonl")).unwrap_or_default();
        let events = text.lines().map(|line| {
            let event: Value = serde_json::from_str(line).expect("JSON");
            event["event_id"].as_str().expect("an id").to_owned()
        });
        events.collect()
    };
    let stores = stores.into_iter();
    stores.map(|store| (store.clone(), ids(&store))).collect()
}

#[test]
fn a_client_made_from_the_reflected_schema_calls_every_method() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    run(async {
        let client = Client::new(&server).await;
        let service = client.schema.get_service_by_name(TIMELINE).expect("served");
        let mut uncalled: BTreeSet<String> = service
            .methods()
            .map(|method| method.name().to_owned())
            .collect();
        let mut called = |name: &str| assert!(uncalled.remove(name), "{name}");

        let events = session();
        for event in &events {
            let answer = ingest(&client, event.clone()).await.expect("stored");
            assert_eq!(
                answer,
                json!({ "event_id": event["event_id"], "created": true })
            );
        }
        let again = ingest(&client, events[1].clone()).await.expect("known");
        assert_eq!(again["created"], json!(false));
        let [(_, ids)] = &stored(&home)[..] else {
            panic!("one store");
        };
        assert_eq!(ids.len(), events.len());
        called("IngestEvent");

        let root = client.call("GetTocRoot", json!({})).await.expect("years");
        assert_eq!(root["nodes"][0]["node_id"], "toc:year:2024");
        assert_eq!(root["logs_left"], 0);
        called("GetTocRoot");

        let day = json!({ "node_id": "toc:day:2024-01-15" });
        let day = client.call("GetNode", day).await.expect("the day");
        let day = &day["node"];
        assert_eq!(day["title"], "Monday, January 15, 2024");
        assert_eq!(day["level"], "day");
        let command_line = home.json(" toc toc:day:2024-01-15");
        let command_line = &command_line["node"];
        assert!(day["version"].as_str().is_some_and(|hash| !hash.is_empty()));
        assert_eq!(
            day["bullets"][0]["text"],
            command_line["bullets"][0]["text"]
        );
        called("GetNode");

        let segment = day["children"][0]["node_id"].clone();
        let parts = json!({ "parent_id": "toc:day:2024-01-15", "limit": 1 });
        let parts = client.call("BrowseToc", parts).await.expect("its parts");
        assert_eq!(parts["nodes"][0]["node_id"], segment);
        assert_eq!(parts["nodes"][0]["children"], json!([]));
        assert_eq!(parts["continuation_token"], "");
        called("BrowseToc");

        let span = json!({
            "from_ms": events[1]["timestamp_ms"], "to_ms": events[3]["timestamp_ms"], "limit": 2,
        });
        let found = client.call("GetEvents", span).await.expect("events");
        let said: Vec<&Value> = found["events"].as_array().expect("a list").iter().collect();
        assert_eq!(said.len(), 2);
        for (said, event) in said.iter().zip(&events[1..]) {
            for field in [
                "event_id",
                "session_id",
                "timestamp_ms",
                "event_type",
                "text",
                "agent",
            ] {
                assert_eq!(said[field], event[field], "{field}");
            }
        }
        assert_eq!(said[0]["role"], "user");
        assert_eq!(found["has_more"], json!(true));
        called("GetEvents");

        let grip = day["bullets"][0]["grip_ids"][0].clone();
        let around = json!({ "grip_id": grip, "before": 1, "after": 0 });
        let around = client.call("ExpandGrip", around).await.expect("a grip");
        assert_eq!(around["state"], "current");
        assert_eq!(around["grip"]["grip_id"], grip);
        let excerpt = &around["excerpt"][0];
        assert_eq!(around["grip"]["event_id_start"], excerpt["event_id"]);
        assert!(ids.contains(&excerpt["event_id"].as_str().expect("an id").to_owned()));
        assert_eq!(around["after"], json!([]));
        assert!(around["before"].as_array().expect("a list").len() <= 1);
        called("ExpandGrip");

        let query = json!({ "query": "retry counter of the uploader" });
        let places = client.call("TeleportQuery", query).await.expect("places");
        assert_eq!(places["results"][0]["node_id"], segment);
        assert_eq!(places["results"][0]["project"], json!(home.project()));
        called("TeleportQuery");
        assert_eq!(uncalled, BTreeSet::new());
    });
}

#[test]
fn health_and_both_versions_of_reflection_answer() {
    use tonic_reflection::pb::v1alpha;
    use v1alpha::server_reflection_client::ServerReflectionClient;
    use v1alpha::server_reflection_request::MessageRequest;

    let home = Home::new();
    let server = Server::start(&home, &["--listen", "127.0.0.1:0"]);
    run(async {
        let client = Client::new(&server).await;
        for service in ["", TIMELINE] {
            let request = json!({ "service": service });
            let health = client.call_of("grpc.health.v1.Health/Check", request).await;
            assert_eq!(health.expect("healthy")["status"], "SERVING", "{service}");
        }
        let channel = server.connect().await;
        let served = services(channel.clone()).await;
        for name in [TIMELINE, "grpc.health.v1.Health"] {
            assert!(served.contains(&name.to_owned()), "{name}: {served:?}");
        }
        let request = v1alpha::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        let requests = tokio_stream::once(request);
        let mut old = ServerReflectionClient::new(channel);
        let answers = old.server_reflection_info(requests).await;
        let answer = answers.expect("answered").into_inner().message().await;
        let answer = format!("{:?}", answer.expect("answered"));
        assert!(answer.contains(TIMELINE), "{answer}");
    });
}

#[test]
fn parallel_ingests_lose_nothing_while_hooks_write() {
    const CALLS: u64 = 200;
    const HOOKS: usize = 8;
    let home = Home::in_memory();
    let server = Server::start(&home, &[]);
    let now = jiff::Timestamp::now().as_millisecond();
    let id = |number: u64| Ulid::from_parts(now.unsigned_abs(), number.into()).to_string();
    std::thread::scope(|scope| {
        for number in 0..HOOKS {
            let home = &home;
            scope.spawn(move || {
                let input = json!({
                    "hook_event_name": "UserPromptSubmit", "session_id": format!("h{number}"),
                    "cwd": home.project(), "prompt": "hello",
                });
                let input = input.to_string();
                let done = home.run_with_input(&["hook", "claude-code"], input.as_bytes());
                assert_eq!(done.code, 0, "{done:?}");
            });
        }
        run(async {
            let clients = [Client::new(&server).await, Client::new(&server).await];
            let mut calls = Vec::new();
            for number in 0..CALLS {
                let client = clients[number as usize % clients.len()].clone();
                let event = json!({
                    "event_id": id(number), "session_id": format!("s{}", number % 7),
                    "timestamp_ms": now, "event_type": "user_message", "text": "hello",
                });
                calls.push(tokio::spawn(async move { ingest(&client, event).await }));
            }
            for call in calls {
                let answer = call.await.expect("no panic").expect("stored");
                assert_eq!(answer["created"], json!(true));
            }
        });
    });
    // A hook that found the store locked set its event aside; whoever reads next appends it.
    home.ok("stores");
    let [(_, ids)] = &stored(&home)[..] else {
        panic!("one store");
    };
    assert_eq!(ids.len(), CALLS as usize + HOOKS);
    let ids: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), CALLS as usize + HOOKS);
    for number in 0..CALLS {
        assert!(ids.contains(&id(number)), "{number}");
    }
}

#[test]
fn a_bad_request_gets_a_status_that_names_the_field() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let edited = |field: &str, value: Value| {
        let mut event = event(1, "user_message", "hello");
        event[field] = value;
        json!({ "event": event })
    };
    let id = |text: &str| edited("event_id", json!(text));
    let elsewhere = json!({ "cwd": home.path().join("other") });
    let long = "a".repeat((1 << 20) + 1);
    let cases = [
        ("IngestEvent", json!({}), "event:"),
        ("IngestEvent", json!({ "event": {} }), "event_id "),
        ("IngestEvent", id(""), "event_id "),
        ("IngestEvent", id("1"), "event_id "),
        ("IngestEvent", id("8ZZZZZZZZZZZZZZZZZZZZZZZZZ"), "event_id "),
        ("IngestEvent", id("01hm5zq8z0abcdefghjkmnpqrs"), "event_id "),
        (
            "IngestEvent",
            id("f47ac10b-58cc-4372-a567-0e02b2c3d479"),
            "event_id ",
        ),
        ("IngestEvent", id("../../../../etc/passwd-000"), "event_id "),
        (
            "IngestEvent",
            edited("event_type", json!("")),
            "event_type ",
        ),
        (
            "IngestEvent",
            edited("event_type", json!("Novel")),
            "event_type ",
        ),
        ("IngestEvent", edited("role", json!("root")), "role "),
        (
            "IngestEvent",
            edited("session_id", json!("")),
            "session_id ",
        ),
        (
            "IngestEvent",
            edited("timestamp_ms", json!(0)),
            "timestamp_ms ",
        ),
        (
            "IngestEvent",
            edited("timestamp_ms", json!(i64::MAX)),
            "timestamp_ms ",
        ),
        ("IngestEvent", edited("text", json!(long)), "text "),
        ("IngestEvent", edited("agent", json!("\u{1b}[2J")), "agent "),
        (
            "IngestEvent",
            edited("metadata", json!({ "cwd": "project" })),
            "metadata: cwd",
        ),
        (
            "IngestEvent",
            edited("metadata", elsewhere),
            "metadata: cwd is not in the project",
        ),
        ("GetNode", json!({}), "node_id:"),
        (
            "GetNode",
            json!({ "node_id": "toc:day:2024-02-30" }),
            "node_id:",
        ),
        ("BrowseToc", json!({}), "parent_id:"),
        (
            "BrowseToc",
            json!({ "parent_id": "toc:year:2024", "continuation_token": "-1" }),
            "continuation_token:",
        ),
        ("GetEvents", json!({ "from_ms": 2, "to_ms": 1 }), "from_ms:"),
        ("ExpandGrip", json!({}), "grip_id:"),
        ("ExpandGrip", json!({ "grip_id": long }), "grip_id:"),
        ("TeleportQuery", json!({ "query": " \n" }), "query:"),
        ("TeleportQuery", json!({ "query": long }), "query:"),
    ];
    let unknown = [
        ("GetNode", json!({ "node_id": "toc:year:2024" })),
        ("BrowseToc", json!({ "parent_id": "toc:year:2024" })),
        ("ExpandGrip", json!({ "grip_id": "grip:1:x" })),
        (
            "ExpandGrip",
            json!({ "grip_id": "grip:1705312800000:01HM5ZQ8Z0ABCDEFGHJKMNPQRS" }),
        ),
    ];
    run(async {
        let client = Client::new(&server).await;
        for (method, request, words) in cases {
            let status = client.call(method, request).await;
            let status = status.expect_err(words);
            assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
            assert!(status.message().starts_with(words), "{status:?}");
        }
        for (method, request) in unknown {
            let status = client.call(method, request).await;
            let status = status.expect_err(method);
            assert_eq!(status.code(), Code::NotFound, "{status:?}");
        }
        let status = client.call_unknown("/tome.v1.Timeline/Forget").await;
        assert_eq!(status.code(), Code::Unimplemented, "{status:?}");
        let large = client.send("tome.v1.Timeline/IngestEvent", vec![0; 4 << 20]);
        let status = large.await.expect_err("too large");
        assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
        // Limits that are too large are cut, and an answer without events is one.
        let many = json!({ "limit": u32::MAX });
        let none = client.call("GetEvents", many).await.expect("no events");
        assert_eq!(none["events"], json!([]));
    });
    assert_eq!(stored(&home), []);
}

#[test]
fn random_bytes_get_an_answer_and_the_server_goes_on() {
    let home = Home::new();
    let server = Server::start(&home, &["--listen", "127.0.0.1:0"]);
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    run(async {
        let client = Client::new(&server).await;
        let service = client.schema.get_service_by_name(TIMELINE).expect("served");
        let mut undecodable = 0;
        for method in service.methods() {
            let name = format!("{TIMELINE}/{}", method.name());
            for _ in 0..40 {
                let length = next() % 64;
                let mut bytes: Vec<u8> = (0..length).map(|_| next() as u8).collect();
                if let Some(first) = bytes.first_mut().filter(|_| length % 2 == 0) {
                    // A first field that the schema has, with a text or a message.
                    *first = 0x0a;
                }
                let status = client.send(&name, bytes).await.err();
                let code = status.as_ref().map(Status::code);
                let expected = [Code::InvalidArgument, Code::NotFound, Code::Internal];
                assert!(
                    code.is_none_or(|code| expected.contains(&code)),
                    "{status:?}"
                );
                let words = status.map(|status| status.message().to_owned());
                let words = words.unwrap_or_default();
                assert!(!words.contains("inside tome"), "{name}: {words}");
                undecodable += usize::from(code == Some(Code::Internal));
            }
        }
        assert!(undecodable > 0);
        // What is no HTTP/2 at all.
        for _ in 0..20 {
            let mut raw = TcpStream::connect(&server.address).expect("connected");
            let bytes: Vec<u8> = (0..200).map(|_| next() as u8).collect();
            // The server may close the connection at any byte.
            drop(raw.write_all(&bytes));
            drop(raw.shutdown(std::net::Shutdown::Write));
            drop(raw.read_to_end(&mut Vec::new()));
        }
        client.call("GetTocRoot", json!({})).await.expect("alive");
    });
}

#[test]
fn only_loopback_addresses_are_accepted() {
    for text in [
        "127.0.0.1:0",
        "127.3.2.1:50051",
        "[::1]:50051",
        "localhost:1",
    ] {
        assert!(Address::loopback(text).is_ok(), "{text}");
    }
    for (text, reason) in [
        ("0.0.0.0:50051", "not a loopback address"),
        ("[::]:50051", "not a loopback address"),
        ("192.168.1.5:50051", "not a loopback address"),
        ("[::ffff:127.0.0.1]:1", "not a loopback address"),
        ("example.org:50051", "not an address"),
        ("localhost.example.org:1", "not an address"),
        ("localhost:70000", "not an address"),
        ("127.0.0.1", "not an address"),
        ("50051", "not an address"),
        ("", "not an address"),
    ] {
        let refused = Address::loopback(text).expect_err("refused").to_string();
        assert!(refused.contains(reason), "{text}: {refused}");
        assert!(refused.contains("this machine"), "{text}: {refused}");
    }
}

#[test]
fn it_listens_only_where_no_other_machine_or_user_gets() {
    let home = Home::new();
    for (args, words) in [
        (["--listen", "0.0.0.0:0"], "not a loopback address"),
        (["--listen", "[::]:0"], "not a loopback address"),
        (["--listen", "10.0.0.1:0"], "not a loopback address"),
        (["--listen", "example.org:1"], "only this machine is served"),
        (["--socket", "/tmp/x.sock"], "others can write"),
        (["--socket", "/no/such/folder/x.sock"], "/no/such/folder"),
        (["--store", "x"], "it takes no --store"),
    ] {
        let done = home.run(&[&["serve"][..], &args].concat());
        assert_eq!(
            (done.code, done.out.as_str()),
            (2, ""),
            "{args:?}: {done:?}"
        );
        assert!(done.err.contains(words), "{args:?}: {done:?}");
        assert_eq!(done.err.lines().count(), 1, "{done:?}");
    }
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let mut server = Server::start(&home, &[]);
    let socket = PathBuf::from(server.address.strip_prefix("unix:").expect("a socket"));
    assert!(socket.starts_with(home.path().join(".local/share/tome")));
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(socket.parent().expect("a folder")), 0o700);
    let second = home.run("serve");
    assert_eq!(second.code, 2, "{second:?}");
    assert!(
        second.err.contains("a server is listening there"),
        "{second:?}"
    );

    // Nothing but a socket is replaced, and no socket is put where others could replace it.
    let file = home.file("project/file", "text");
    let taken = home.run("serve --socket file");
    assert_eq!(taken.code, 2, "{taken:?}");
    assert!(
        taken.err.contains("something else than a socket"),
        "{taken:?}"
    );
    assert_eq!(fs::read_to_string(file).expect("there"), "text");
    let open = home.path().join("open");
    fs::create_dir(&open).expect("a folder");
    support::chmod(&open, 0o720);
    let socket_there = open.join("s.sock");
    let refused = home.run(&["serve", "--socket", &socket_there.display().to_string()]);
    assert!(refused.err.contains("others can write"), "{refused:?}");
    assert!(!socket_there.exists());

    // A killed server leaves its socket, which the next one replaces.
    server.signal(Signal::KILL);
    server.wait();
    assert!(socket.exists());
    let server = Server::start(&home, &[]);
    assert_eq!(server.address, format!("unix:{}", socket.display()));
}

#[test]
fn it_ends_when_it_is_told_to_and_removes_its_socket() {
    let home = Home::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(&home, &[]);
        run(async {
            // A client that stays connected and watches does not keep it.
            let channel = server.connect().await;
            let mut health = tonic_health::pb::health_client::HealthClient::new(channel);
            let request = tonic_health::pb::HealthCheckRequest::default();
            let mut watched = health.watch(request).await.expect("watched").into_inner();
            watched.message().await.expect("told").expect("a status");
            server.signal(signal);
            assert_eq!(server.wait().code(), Some(0), "{signal:?}");
        });
        let socket = server.address.strip_prefix("unix:").expect("a socket");
        assert!(!Path::new(socket).exists(), "{signal:?}");
    }
}

#[test]
fn with_all_an_event_goes_to_its_project_and_secrets_are_not_stored() {
    let home = Home::new();
    let other = home.path().join("other");
    fs::create_dir_all(other.join(".git")).expect("a project");
    let server = Server::start(&home, &["--all"]);
    run(async {
        let client = Client::new(&server).await;
        let mut there = event(1, "user_message", "password = \"hunter2-hunter2-hunter2\"");
        there["metadata"] = json!({ "cwd": other });
        ingest(&client, there).await.expect("stored");
        let here = event(2, "user_message", "hello");
        ingest(&client, here).await.expect("stored");
        let events = client.call("GetEvents", json!({})).await.expect("events");
        assert_eq!(events["events"].as_array().expect("a list").len(), 2);
    });
    let stores = stored(&home);
    assert_eq!(stores.len(), 2);
    for (store, ids) in stores {
        assert_eq!(ids.len(), 1);
        let text = fs::read_to_string(store.join("events.jsonl")).expect("there");
        assert!(!text.contains("hunter2"), "{text}");
        let mode = |name: &str| {
            let path = store.join(name);
            fs::metadata(path).expect("there").permissions().mode() & 0o777
        };
        assert_eq!((mode("."), mode("events.jsonl")), (0o700, 0o600));
    }
}
