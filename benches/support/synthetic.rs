//! Synthetic logs: the same bytes in every run, shaped like real ones.
//!
//! Shares of bytes, sizes of sessions and frequencies of words follow counts of real logs: tool
//! results are stored twice or more, a fiftieth is messages of users and agents, a session has
//! 1.7 MB on average and a few have ten times that.

#[path = "dice.rs"]
pub(crate) mod dice;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use dice::Dice;

/// Incremented if the bytes change, so that an old corpus is not reused.
const EDITION: u32 = 3;
/// The number of words of the language.
const VOCABULARY: usize = 24_000;
/// The mean size of a session in bytes.
const SESSION: f64 = 1.7e6;

/// Creates a home directory with about `bytes` of logs below `parent`, or reuses it.
pub(crate) fn home(parent: &Path, bytes: u64) -> io::Result<PathBuf> {
    let home = parent.join(format!("tome-bench-logs-{EDITION}-{bytes}"));
    if home.join("complete").exists() {
        return Ok(home);
    }
    let mut writer = Writer::new(0x70_6d_65);
    let mut written = 0;
    for session in 0.. {
        if written >= bytes {
            break;
        }
        let size = (writer.session_size() as u64).min(bytes - written);
        let (path, text) = match session % 12 {
            5 => writer.rollout(size as usize),
            _ => writer.transcript(size as usize),
        };
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&home))?;
        File::create(path)?.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    fs::write(home.join("complete"), "")?;
    Ok(home)
}

/// Generates text and the records around it.
struct Writer {
    dice: Dice,
    words: Vec<String>,
    clock: u64,
}

/// One session while it is written.
struct Session {
    id: String,
    cwd: String,
    branch: String,
    version: &'static str,
    has_progress: bool,
    parent: String,
    out: String,
}

const COMMON: &str = "the to of and a in is it that for this we on with be as not are you I can if \
    so was but have from or an by at which should do will there when file now test use code no \
    need all one has what then let run how into only error time just line see add also change \
    would new function first its more make any fix after where them same out get your set because \
    before work check like some read call here two than does other build back write still while \
    value been type path name were find log each over version may order since both search server \
    client request response database migration schema index query cache token session memory agent \
    prompt thread lock mutex channel deploy staging production cluster kubernetes docker container \
    image pipeline branch commit merge rebase conflict review comment issue ticket release rollback \
    latency timeout retry backoff queue worker scheduler parser compiler lexer syntax module crate \
    package dependency upgrade config setting environment variable secret password certificate \
    permission policy role user account billing invoice payment refund webhook event stream batch \
    report dashboard metric alert trace profile benchmark allocation buffer socket connection pool \
    transaction isolation snapshot backup restore archive compress decode encode validate sanitize \
    render layout theme widget button dialog keyboard mouse scroll terminal cursor colour font";

const TOOLS: &[&str] = &["Bash", "Read", "Edit", "Grep", "Write", "Glob"];
const VERSIONS: &[&str] = &["2.0.76", "2.1.4", "2.1.25", "2.1.39", "2.1.98", "2.1.210"];

impl Writer {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        let heads = [
            "con", "re", "pre", "trans", "in", "ex", "sub", "over", "de", "un", "pro",
        ];
        let middles = [
            "fig", "ta", "ver", "mi", "lo", "cu", "der", "no", "si", "pa", "ge", "ru",
        ];
        let tails = [
            "tion", "ing", "er", "ed", "able", "ness", "ment", "s", "ly", "al", "or",
        ];
        while words.len() < VOCABULARY {
            let mut word = heads[dice.below(heads.len())].to_owned();
            for _ in 0..1 + dice.below(3) {
                word.push_str(middles[dice.below(middles.len())]);
            }
            word.push_str(tails[dice.below(tails.len())]);
            words.push(word);
        }
        Self {
            dice,
            words,
            clock: 1_767_225_600_000,
        }
    }

    fn session_size(&mut self) -> f64 {
        self.dice.spread(SESSION, 1.1).clamp(20_000.0, 40e6)
    }

    /// Returns a word by Zipf's law: the n-th has a frequency of 1/n.
    fn word(&mut self) -> usize {
        let rank = (self.dice.unit() * (VOCABULARY as f64).ln()).exp();
        (rank as usize).min(VOCABULARY) - 1
    }

    /// Returns prose of about `size` bytes.
    fn prose(&mut self, size: usize) -> String {
        let mut text = String::with_capacity(size + 32);
        let mut in_sentence = 0;
        while text.len() < size {
            let word = self.word();
            if in_sentence == 0 {
                let mut chars = self.words[word].chars();
                text.extend(chars.next().map(|first| first.to_ascii_uppercase()));
                text.push_str(chars.as_str());
            } else if self.dice.one_in(18) {
                let other = self.word();
                let _ = write!(text, "`{}_{}`", self.words[word], self.words[other]);
            } else {
                text.push_str(&self.words[word]);
            }
            in_sentence += 1;
            match self.dice.below(16) {
                0 => {
                    text.push_str(if self.dice.one_in(4) { ".\n\n" } else { ". " });
                    in_sentence = 0;
                }
                1 => text.push_str(", "),
                2 if self.dice.one_in(30) => text.push_str(" — über naïve 数据库 "),
                _ => text.push(' '),
            }
        }
        text
    }

    /// Returns output of a tool of about `size` bytes: code, listings, numbers.
    fn output(&mut self, size: usize) -> String {
        let mut text = String::with_capacity(size + 80);
        let mut number = 1;
        while text.len() < size {
            let (a, b, c) = (self.word(), self.word(), self.word());
            let (a, b, c) = (&self.words[a], &self.words[b], &self.words[c]);
            let dice = &mut self.dice;
            let indent = "\t".repeat(dice.below(4));
            let _ = match dice.below(8) {
                0 => writeln!(
                    text,
                    "{number:>6}\t{indent}func {a}_{b}({c} string) error {{"
                ),
                1 => writeln!(
                    text,
                    "{number:>6}\t{indent}if err := {a}.{b}({c}); err != nil {{"
                ),
                2 => writeln!(
                    text,
                    "{number:>6}\t{indent}return fmt.Errorf(\"{a} {b}: %w\", {c})"
                ),
                3 => writeln!(text, "{indent}// {a} {b} the {c} when it is {a}"),
                4 => writeln!(text, "src/{a}/{b}.rs:{}: {c}", dice.below(2000)),
                5 => writeln!(
                    text,
                    "{indent}\"{a}\": {{\"{b}\": {}, \"{c}\": true}},",
                    dice.below(99)
                ),
                6 => writeln!(
                    text,
                    "ok  \tgithub.com/{a}/{b}\t{}.{:03}s",
                    dice.below(9),
                    dice.below(999)
                ),
                _ => writeln!(text, "{:07x} {a} {b} {c}", dice.next() & 0xfff_ffff),
            };
            number += 1;
        }
        text
    }

    fn base64(&mut self, size: usize) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::with_capacity(size + 10);
        while text.len() < size {
            let bits = self.dice.next();
            text.extend((0..10).map(|at| char::from(DIGITS[(bits >> (6 * at)) as usize & 63])));
        }
        text
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.dice.next(), self.dice.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            b & 0xfff,
            b >> 16
        )
    }

    /// Returns the next timestamp of the conversation.
    fn stamp(&mut self) -> String {
        self.clock += 400 + self.dice.next() % 20_000;
        let seconds = self.clock / 1000;
        let (day, second) = (seconds / 86_400 - 20_454, seconds % 86_400);
        format!(
            "2026-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            1 + day / 28 % 12,
            1 + day % 28,
            second / 3600,
            second / 60 % 60,
            second % 60,
            self.clock % 1000
        )
    }

    /// Returns a Claude Code transcript of about `size` bytes, and its path.
    fn transcript(&mut self, size: usize) -> (PathBuf, String) {
        let project = self.dice.below(30);
        let word = self.words[60 + project].clone();
        let version = VERSIONS[self.dice.below(VERSIONS.len())];
        let mut session = Session {
            id: self.uuid(),
            cwd: format!("/home/dev/projects/{word}"),
            branch: format!("feature/{}-{word}", self.dice.below(90)),
            version,
            has_progress: !version.starts_with("2.1.2"),
            parent: self.uuid(),
            out: String::with_capacity(size + 100_000),
        };
        while session.out.len() < size {
            self.turn(&mut session, size);
        }
        if self.dice.one_in(2) {
            let title = self.prose(30);
            let _ = writeln!(
                session.out,
                r#"{{"type":"ai-title","aiTitle":{},"sessionId":"{}"}}"#,
                quoted(title.trim_end_matches(['.', ' ', '\n', ','])),
                session.id
            );
        }
        let path = format!(
            ".claude/projects/-home-dev-projects-{word}/{}.jsonl",
            session.id
        );
        (PathBuf::from(path), session.out)
    }

    /// Writes a prompt, some steps with tools, and an answer.
    fn turn(&mut self, session: &mut Session, limit: usize) {
        let size = self.dice.spread(420.0, 0.9) as usize;
        let prompt = quoted(&self.prose(size));
        let body = format!(r#""type":"user","message":{{"role":"user","content":{prompt}}}"#);
        self.record(
            session,
            &body,
            r#","promptSource":"typed","permissionMode":"default""#,
        );
        if self.dice.one_in(12) {
            let size = self.dice.spread(60_000.0, 0.8) as usize;
            let data = self.base64(size);
            let body = format!(
                r#""type":"user","message":{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}]}}"#
            );
            self.record(session, &body, "");
        }
        for _ in 0..4 + self.dice.below(22) {
            if session.out.len() >= limit {
                return;
            }
            self.step(session);
        }
        let size = self.dice.spread(1_700.0, 0.9) as usize;
        let text = quoted(&self.prose(size));
        let block = format!(r#"{{"type":"text","text":{text}}}"#);
        self.reply(session, &block);
        let message = self.uuid();
        let _ = writeln!(
            session.out,
            r#"{{"type":"file-history-snapshot","messageId":"{message}","snapshot":{{"messageId":"{message}","trackedFileBackups":{{}},"timestamp":"{}"}},"isSnapshotUpdate":false}}"#,
            self.stamp()
        );
    }

    /// Writes a thought, a call, its progress and its result.
    fn step(&mut self, session: &mut Session) {
        if self.dice.one_in(3) {
            let words = if self.dice.one_in(3) { 300 } else { 0 };
            let thought = quoted(&self.prose(words));
            let size = self.dice.spread(900.0, 0.8) as usize;
            let signature = self.base64(size);
            let block =
                format!(r#"{{"type":"thinking","thinking":{thought},"signature":"{signature}"}}"#);
            self.reply(session, &block);
        }
        if self.dice.one_in(4) {
            let text = quoted(&self.prose(200));
            let block = format!(r#"{{"type":"text","text":{text}}}"#);
            self.reply(session, &block);
        }
        let tool = TOOLS[self.dice.below(TOOLS.len())];
        let call = format!(
            "toolu_01{:016x}{:06x}",
            self.dice.next(),
            self.dice.below(1 << 24)
        );
        let size = self.dice.spread(420.0, 1.1) as usize;
        let input = quoted(&self.output(size));
        let file = self.word();
        let file = format!("{}/src/{}.rs", session.cwd, self.words[file]);
        let block = format!(
            r#"{{"type":"tool_use","id":"{call}","name":"{tool}","input":{{"file_path":"{file}","command":{input}}}}}"#
        );
        self.reply(session, &block);
        let size = self.dice.spread(1_900.0, 1.3).min(60_000.0) as usize;
        let output = self.output(size);
        if session.has_progress {
            for _ in 0..1 + self.dice.below(4) {
                self.progress(session, &call, &output);
            }
        }
        self.result(session, (&call, &file), &output);
    }

    fn progress(&mut self, session: &mut Session, call: &str, output: &str) {
        let so_far = quoted(&output[..output.len() / 3]);
        let body = format!(
            r#""type":"progress","data":{{"type":"bash_progress","output":{so_far},"fullOutput":{so_far},"elapsedTimeSeconds":3,"totalLines":12}},"toolUseID":"bash-progress-1","parentToolUseID":"{call}""#
        );
        self.record(session, &body, "");
    }

    /// Writes a tool's result, with the harness's own copy of it and often the whole file.
    fn result(&mut self, session: &mut Session, (call, file): (&str, &str), output: &str) {
        let text = quoted(output);
        let original = match self.dice.below(3) {
            0 => quoted(&self.output(output.len() * 4)),
            _ => "null".to_owned(),
        };
        let body = format!(
            r#""type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":{text},"is_error":false}}]}}"#
        );
        let copy = format!(
            r#","toolUseResult":{{"filePath":"{file}","stdout":{text},"stderr":"","originalFile":{original},"structuredPatch":[{{"oldStart":1,"oldLines":7,"newStart":1,"newLines":9,"lines":["-a","+b"]}}],"interrupted":false,"isImage":false}}"#
        );
        self.record(session, &body, &copy);
    }

    fn reply(&mut self, session: &mut Session, block: &str) {
        let body = format!(
            r#""type":"assistant","message":{{"model":"claude-opus-4-5-20251101","id":"msg_01{:016x}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":9,"cache_creation_input_tokens":{},"cache_read_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":228,"ephemeral_1h_input_tokens":0}},"output_tokens":5,"service_tier":"standard"}}}},"requestId":"req_011C{:016x}""#,
            self.dice.next(),
            self.dice.below(9000),
            self.dice.below(150_000),
            self.dice.next()
        );
        self.record(session, &body, "");
    }

    /// Writes a record with its envelope.
    fn record(&mut self, session: &mut Session, body: &str, after: &str) {
        let (uuid, stamp) = (self.uuid(), self.stamp());
        let Session {
            id,
            cwd,
            branch,
            version,
            parent,
            out,
            ..
        } = session;
        let _ = writeln!(
            out,
            r#"{{"parentUuid":"{parent}","isSidechain":false,"userType":"external","cwd":"{cwd}","sessionId":"{id}","version":"{version}","gitBranch":"{branch}","slug":"luminous-gathering-charm",{body},"uuid":"{uuid}","timestamp":"{stamp}"{after}}}"#
        );
        *parent = uuid;
    }

    /// Returns a Codex rollout of about `size` bytes, and its path.
    fn rollout(&mut self, size: usize) -> (PathBuf, String) {
        let id = self.uuid();
        let mut out = String::with_capacity(size + 100_000);
        let instructions = quoted(&self.prose(9_000));
        self.item(&mut out, "session_meta", &format!(
            r#""id":"{id}","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/dev/projects/codex","originator":"codex-tui","cli_version":"0.140.0","source":"cli","model_provider":"openai","base_instructions":{{"text":{instructions}}}"#
        ));
        while out.len() < size {
            let prompt = quoted(&self.prose(260));
            self.item(&mut out, "response_item", &format!(
                r#""type":"message","role":"user","content":[{{"type":"input_text","text":{prompt}}}]"#
            ));
            self.item(
                &mut out,
                "event_msg",
                &format!(r#""type":"user_message","message":{prompt},"images":[]"#),
            );
            for step in 0..6 + self.dice.below(20) {
                let secret = self.base64(1_200);
                self.item(
                    &mut out,
                    "response_item",
                    &format!(r#""type":"reasoning","summary":[],"encrypted_content":"{secret}""#),
                );
                let arguments = quoted(&format!(r#"{{"cmd":{}}}"#, quoted(&self.output(150))));
                self.item(&mut out, "response_item", &format!(
                    r#""type":"function_call","name":"exec_command","arguments":{arguments},"call_id":"call_{step}""#
                ));
                let size = self.dice.spread(2_500.0, 1.2).min(40_000.0) as usize;
                let output = quoted(&self.output(size));
                self.item(
                    &mut out,
                    "response_item",
                    &format!(
                        r#""type":"function_call_output","call_id":"call_{step}","output":{output}"#
                    ),
                );
                self.item(&mut out, "event_msg", r#""type":"token_count","info":{"total_token_usage":{"input_tokens":183920,"cached_input_tokens":170240,"output_tokens":2210,"total_tokens":186130},"model_context_window":272000},"rate_limits":null"#);
            }
            let answer = quoted(&self.prose(900));
            self.item(
                &mut out,
                "event_msg",
                &format!(r#""type":"agent_message","message":{answer}"#),
            );
            self.item(&mut out, "response_item", &format!(
                r#""type":"message","role":"assistant","content":[{{"type":"output_text","text":{answer}}}]"#
            ));
        }
        let path = format!(".codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-{id}.jsonl");
        (PathBuf::from(path), out)
    }

    fn item(&mut self, out: &mut String, kind: &str, payload: &str) {
        let stamp = self.stamp();
        let _ = writeln!(
            out,
            r#"{{"timestamp":"{stamp}","type":"{kind}","payload":{{{payload}}}}}"#
        );
    }
}

/// Returns the text as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8 + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
