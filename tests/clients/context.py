#!/usr/bin/env python3
"""What five real clients send at their start, offline, against `tome context --agent`.

Run: python3 tests/clients/context.py [TOME] [CLIENT…]      (TOME: the program; default target/debug/tome)
The clients are `claude`, `codex`, `gemini`, `opencode` and `copilot` on PATH, or the ones that CLAUDE, CODEX, GEMINI,
OPENCODE and COPILOT name. One that is not there is not tested, and that is said.

For each layout of files the real client runs one prompt against a stand-in on 127.0.0.1. Its first request must hold the
text of each piece of `tome context`, byte for byte and in order; between the pieces may be only the client's own headings,
which name the file of the piece; and nothing may be before, between or after them that no piece has.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from stand_in import StandIn

HERE = pathlib.Path(__file__).resolve().parent
TOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/debug/tome").resolve()


class Recorder:
    """Answers every prompt of Chat Completions, Responses and the Gemini API with one text, and keeps the requests."""

    def __init__(self, said="ok"):
        self.requests = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply("application/json", {"object": "list", "data": [{"id": "stand-in", "object": "model"}], "models": []})

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                recorder.requests.append(request)
                if "/responses" in self.path:
                    item = {"type": "message", "role": "assistant", "id": "m", "status": "completed",
                            "content": [{"type": "output_text", "text": said, "annotations": []}]}
                    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
                    whole = {"id": "r", "status": "completed", "output": [item], "usage": usage}
                    events = [{"type": "response.created", "response": {"id": "r"}},
                              {"type": "response.output_item.done", "output_index": 0, "item": item},
                              {"type": "response.completed", "response": whole}]
                    self.reply("text/event-stream", "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events))
                elif "/chat/completions" in self.path:
                    base = {"id": "c", "created": 1, "model": "stand-in", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
                    if not request.get("stream"):
                        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
                        return self.reply("application/json", dict(base, object="chat.completion", choices=[choice]))
                    parts = [({"role": "assistant", "content": said}, None), ({}, "stop")]
                    chunks = [dict(base, object="chat.completion.chunk", choices=[{"index": 0, "delta": d, "finish_reason": f}]) for d, f in parts]
                    self.reply("text/event-stream", "".join("data: %s\n\n" % json.dumps(c) for c in chunks) + "data: [DONE]\n\n")
                elif "GenerateContent" in self.path or "generateContent" in self.path:
                    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": said}]}, "finishReason": "STOP", "index": 0}],
                              "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
                    if "stream" in self.path:
                        return self.reply("text/event-stream", "data: %s\r\n\r\n" % json.dumps(answer))
                    self.reply("application/json", answer)
                else:
                    self.reply("application/json", {"totalTokens": 1})

            def reply(self, kind, body):
                body = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except BrokenPipeError:
                    pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def strings(value):
    """Every text of a request, without the definitions of tools."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            if name != "tools":
                yield from strings(part)


def between(text, start, end):
    """The text after `start` and before `end`; empty if `start` is not there."""
    at = text.find(start)
    if at < 0:
        return ""
    stop = text.find(end, at + len(start))
    return text[at + len(start):stop if stop >= 0 else len(text)]


class Client:
    """A client: how it is run, the region of its request that has the context, and the headings in it."""
    name = program = package = ""

    def __init__(self):
        self.path = os.environ.get(self.program.upper()) or shutil.which(self.program)

    def run(self, place):
        recorder = self.recorder()
        env = dict({"HOME": str(place.home), "PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C.UTF-8"}, **self.env(recorder, place))
        try:
            done = subprocess.run([self.path, *self.args(recorder)], cwd=place.cwd, env=env, capture_output=True, text=True,
                                  timeout=180, stdin=subprocess.DEVNULL)
        finally:
            recorder.close()
        if done.returncode or not recorder.requests:
            raise AssertionError("%s fails: %s %s" % (self.name, done.stdout[-1000:], done.stderr[-2000:]))
        return self.region(recorder.requests)

    def recorder(self, said="ok"):
        return Recorder(said)

    def prepare(self, place):
        """Writes what a home of the client's has before tome is set up."""

    def printed(self, text):
        """The answer in what one prompt prints."""
        return text

    def opening(self, piece, place, first):
        """The heading before a file, as an expression."""
        raise NotImplementedError

    closing = ""
    ending = ""


class ClaudeCode(Client):
    name, program = "claude-code", "claude"
    file, user = "CLAUDE.md", ".claude/CLAUDE.md"
    # The reminder is about the files alone, or has them as its first part.
    FILES = re.compile(r"(?:<system-reminder>|\n# claudeMd)\nCodebase and user instructions are shown below\. Be sure to adhere to these instructions\. "
                       r"IMPORTANT: These instructions OVERRIDE any default behavior and you MUST follow them exactly as written\."
                       r"(.*?)(?:\n</system-reminder>|\n# currentDate\nToday's date is )", re.S)

    def recorder(self, said="ok"):
        return StandIn([[{"type": "text", "text": said}]])

    def env(self, recorder, place):
        return {"ANTHROPIC_API_KEY": "sk-test-x", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_BASE_URL": recorder.url}

    def args(self, _):
        return ["-p", "say ok"]

    def region(self, requests):
        texts = list(strings(requests[0]))
        files = "".join(found for text in texts for found in self.FILES.findall(text))
        hook = "".join(between(text, "SessionStart hook additional context: ", "\n\n# Environment\n") for text in texts)
        return files + ("\n\nHOOK\n\n" + hook if hook else "")

    def opening(self, piece, place, first):
        if piece["kind"] == "hook":
            return r"\n\nHOOK\n\n"
        return r"\n\nContents of %s \([^()\n]*\):\n\n" % re.escape(piece["path"])

    closing = r"(\n\n> WARNING: MEMORY\.md is [^\n]*)?"
    ending = r"\n?"


class Codex(Client):
    name = program = "codex"
    file, user = "AGENTS.md", ".codex/AGENTS.md"

    def env(self, *_):
        return {"STAND_IN_KEY": "x"}

    def args(self, recorder):
        provider = "model_providers.stand_in={name=\"stand-in\", base_url=\"%s/v1\", wire_api=\"responses\", env_key=\"STAND_IN_KEY\"}" % recorder.url
        settings = ["model=\"stand-in\"", "model_provider=\"stand_in\"", "approval_policy=\"never\"", provider]
        flags = [part for setting in settings for part in ("-c", setting)]
        return ["exec", "--skip-git-repo-check", *flags, "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "say ok"]

    def region(self, requests):
        # A request of its own may keep the memories.
        request = next(request for request in requests if "say ok" in list(strings(request)))
        texts = list(strings(request))
        memory = "".join(between(text, "========= MEMORY_SUMMARY BEGINS =========", "\n========= MEMORY_SUMMARY ENDS") for text in texts)
        files = "".join(text for text in texts if text.startswith("# AGENTS.md instructions"))
        hook = "".join(text for text in texts if text.startswith(HOOK))
        return memory + files + ("\n\nHOOK\n\n" + hook if hook else "")

    def opening(self, piece, place, first):
        if piece["kind"] == "hook":
            return r"(\n</INSTRUCTIONS>)?\n\nHOOK\n\n"
        if piece["kind"] == "memory":
            return r"\n" if first else r"…\d+ tokens truncated…"
        return r"(# AGENTS\.md instructions( for %s)?\n\n<INSTRUCTIONS>\n|\n\n--- project-doc ---\n\n|\n\n)" % re.escape(str(place.cwd))

    ending = r"(\n</INSTRUCTIONS>)?"


class Gemini(Client):
    name = program = "gemini"
    file, user = "GEMINI.md", ".gemini/GEMINI.md"

    def env(self, recorder, place):
        # The machine's settings, so that those of the layout stay as they are.
        settings = place.home / "system.json"
        settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
        return {"GEMINI_API_KEY": "x" * 39, "GOOGLE_GEMINI_BASE_URL": recorder.url, "GEMINI_TELEMETRY_ENABLED": "false",
                "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(settings),
                # It starts itself again with more memory otherwise, which takes as long once more.
                "GEMINI_CLI_NO_RELAUNCH": "true", "NODE_COMPILE_CACHE": str(CACHE / "tome-node")}

    def args(self, _):
        return ["-p", "say ok", "--approval-mode", "yolo", "-m", "gemini-2.5-pro"]

    def region(self, requests):
        request = next(r for r in requests if r.get("tools"))
        system = "".join(strings(request.get("systemInstruction") or {}))
        said = "".join(strings(request["contents"]))
        files = "".join(between(text, "\n<loaded_context>", "\n</loaded_context>") for text in (system, said))
        # The instructions of tome's server are not a file, and are the server's to tell.
        files = re.sub(r"\n\nThe following are instructions provided by the tool server 'tome':\n.*?\[end of server instructions\]---", "", files, flags=re.S)
        hook = between(said, "<hook_context>", "</hook_context>")
        return files + ("\n\nHOOK\n\n" + hook if hook else "")

    TAGS = r"(\n</?(global_context|extension_context|user_project_memory|project_context)>|\n--- (End )?Private Project Memory Index[^\n]*---)*"

    def opening(self, piece, place, first):
        if piece["kind"] == "hook":
            return self.TAGS + r"\n\nHOOK\n\n"
        path = re.escape(piece["path"])
        return self.TAGS + r"\n{0,2}--- Context from: %s ---\n" % path

    def closing_of(self, piece):
        return "" if piece["kind"] == "hook" else r"\n--- End of Context from: %s ---" % re.escape(piece["path"])

    ending = TAGS


class Opencode(Client):
    name = program = "opencode"
    file, user = "AGENTS.md", ".config/opencode/AGENTS.md"

    def prepare(self, place):
        # It installs a package into its folder of settings, and waits for it before it runs a plugin: more than a minute where
        # the registry cannot be reached. A package that the lock names is taken for installed.
        own = place.home / ".config/opencode"
        (own / "node_modules").mkdir(parents=True)
        (own / "package-lock.json").write_text(json.dumps({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}))

    def env(self, recorder, place):
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "s", "options": {"baseURL": recorder.url + "/v1", "apiKey": "x"},
                    "models": {"stand-in": {"name": "stand-in"}}}
        config = {"provider": {"s": provider}, "model": "s/stand-in", "permission": "allow"}
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def args(self, _):
        return ["run", "say ok", "--format", "json"]

    def printed(self, text):
        """The texts of the answer: the rest has times and identifiers."""
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return "".join(line["part"]["text"] + "\n" for line in lines if line.get("type") == "text")

    def region(self, requests):
        request = next(r for r in requests if len(r.get("tools") or []) > 1)
        system = [text for message in request["messages"] if message["role"] == "system" for text in strings(message["content"])]
        files = between(system[0], "</env>", "\nSkills provide specialized instructions")
        # What servers say of themselves is not a file.
        files = re.sub(r"\n<mcp_instructions>.*</mcp_instructions>$", "", files, flags=re.S)
        hook = "".join(system[1:])
        return files + ("\n\nHOOK\n\n" + hook if hook else "")

    def opening(self, piece, place, first):
        if piece["kind"] == "hook":
            return r"\n\nHOOK\n\n"
        return r"\nInstructions from: %s\n" % re.escape(piece["path"])


class Copilot(Client):
    name = program = "copilot"
    file, user = "AGENTS.md", ".copilot/copilot-instructions.md"

    def env(self, recorder, place):
        return {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": recorder.url + "/v1", "COPILOT_PROVIDER_API_KEY": "x",
                "COPILOT_MODEL": "gpt-4.1", "COPILOT_AUTO_UPDATE": "false", "CI": "1", "XDG_CACHE_HOME": str(CACHE)}

    def args(self, _):
        return ["-p", "say ok", "--allow-all-tools"]

    def region(self, requests):
        text = "\n".join(strings(requests[0]))
        files = between(text, "</code_search_tools>\n</tools>\n", "<system_notifications>")
        hook = "".join(text for text in strings(requests[0]) if text.startswith(HOOK))
        return files + ("\n\nHOOK\n\n" + hook if hook else "")

    def opening(self, piece, place, first):
        if piece["kind"] == "hook":
            return r"\n\nHOOK\n\n"
        if piece["kind"] == "rule":
            # The text may begin with line breaks, too. For an empty rule alone nothing is sent.
            return r"\n{1,2}?(?=%s)" % re.escape(piece["text"]) if piece["text"] else r"\n{0,2}"
        return r"\n<custom_instruction>\n"

    def closing_of(self, piece):
        return {"rule": r"\n" if piece["text"] else r"\n?", "hook": ""}.get(piece["kind"], r"\n</custom_instruction>\n")

    LIST = r"(\nHere is a list of instruction files.*\| -+ \| -+ \| -+ \|\n(?P<rows>.*?)\n)?"
    # Files further down are named as well, and not sent.
    NESTED = r"(\n{0,2}Here is a list of nested AGENTS\.md files.*?)?"
    ending = LIST + NESTED + r"\n{0,2}"


CLIENTS = [ClaudeCode, Codex, Gemini, Opencode, Copilot]
CACHE = pathlib.Path(tempfile.gettempdir())
# How what the hook says begins.
HOOK = "Persistent memory is kept in files"
# Some clients refuse a home in /tmp.
ROOT = pathlib.Path.home() / ".cache/tome-layouts"


class Place:
    """A home with a project in it, and the directory in which the client starts."""

    def __init__(self, folder):
        self.home = pathlib.Path(folder).resolve()
        self.cwd = self.home / "project"
        self.cwd.mkdir()
        self.variables = {}

    def git(self, *args, cwd=None):
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", "-c", "user.name=Kim", "-c", "user.email=kim@example.com", *args], cwd=cwd or self.home / "project", env=env,
                       check=True, capture_output=True)

    def write(self, files):
        for path, text in files.items():
            path = self.home / path
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, pathlib.PurePath):
                path.symlink_to(text)
            else:
                path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def tome(self, *args):
        env = dict({"HOME": str(self.home), "PATH": os.environ["PATH"], "TZ": "UTC"}, **self.variables)
        done = subprocess.run([str(TOME), *args], cwd=self.home / "project", env=env, capture_output=True, text=True)
        if done.returncode > 1:
            raise AssertionError("tome %s: %s" % (" ".join(args), done.stderr))
        return done.stdout

    def pieces(self, client):
        return json.loads(self.tome("context", "--agent", client.name, "--cwd", str(self.cwd), "--json"))["pieces"]


def is_told(piece):
    """Whether a file is named without its text because it leads out of its project."""
    return not piece["text"] and (piece["cut"] or "").startswith("not shown: ") and "leads" in piece["cut"]


def compare(client, pieces, region, place):
    """What is wrong between the pieces and the region; nothing if they are equal."""
    at, last, seen = 0, None, set()
    # What may stand before the next piece: a file that is told and not shown has its text there.
    gap = ""

    def take(expression, what, text=""):
        nonlocal at, gap
        ahead = "(?=%s)" % re.escape(text) if gap else ""
        found = re.compile(gap + expression + ahead, re.S).match(region, at)
        gap = ""
        if not found:
            return "%s: expected %s, found %r" % (what, expression, region[at:at + 200])
        at = found.end()
        return None

    def close(piece):
        own = getattr(client, "closing_of", None)
        return (own(piece) if own else client.closing) if piece else ""

    named = [piece for piece in pieces if not piece["text"] and piece["cut"]]
    top = None
    for piece in pieces:
        if piece in named:
            gap = ".*?" if is_told(piece) else gap
            continue
        name = "%s %s" % (piece["kind"], piece["path"])
        is_rest = piece["bytes"] == 0 and piece["path"] in seen
        inlined = isinstance(client, (Gemini, Copilot)) and (piece["kind"] == "import" or is_rest)
        heading = "" if inlined else close(top) + gap + client.opening(piece, place, last is None)
        wrong = take(heading, name, piece["text"])
        if wrong:
            return wrong
        top = top if inlined else piece
        if not region.startswith(piece["text"], at):
            return "%s: expected %r, found %r" % (name, piece["text"][:200], region[at:at + 200])
        at += len(piece["text"])
        seen.add(piece["path"])
        last = piece
    found = re.compile(gap + close(top) + gap + client.ending, re.S).fullmatch(region, at)
    if not found:
        return "after the last piece: %r" % region[at:at + 300]
    rows = (found.groupdict().get("rows") or "").splitlines()
    for row in rows:
        file = row.split(" | ")[1].strip("'")
        if not any(piece["path"].endswith(file) for piece in named):
            return "no piece for the row %r" % row
    return None


# Layouts. Each takes a place and a client, and writes files.

def none(place, client):
    place.git("init", "-q")


def plain(place, client):
    place.git("init", "-q")
    place.write({client.user: "Mine.\n\nFor all projects.\n", "project/" + client.file: "\n# Project\n\n- Be brief.\n\n"})


def nested(place, client):
    place.git("init", "-q")
    place.write({client.file: "Above the project.\n", "project/" + client.file: "Root.\n", "project/a/" + client.file: "Middle.\n",
                 "project/a/b/" + client.file: "Here.\n", "project/a/b/c/" + client.file: "Below.\n", "project/x/" + client.file: "Beside.\n"})
    place.cwd = place.home / "project/a/b"


def imports(place, client):
    place.git("init", "-q")
    place.write({
        "project/" + client.file: "See @docs/one.md and `@docs/code.md`.\n\n```\n@docs/fence.md\n```\n\n- @docs/two.md\n- @docs/missing.md\n\n@./docs/three.md x@docs/code.md @../outside.md\n@docs/one.md\nend\n",
        "project/docs/one.md": "One, then @deep/four.md\n\n", "project/docs/deep/four.md": "Four.\n@../two.md\n@../one.md",
        "project/docs/two.md": "Two.\n", "project/docs/three.md": "  Three.\n", "project/docs/code.md": "Code.\n", "project/docs/fence.md": "Fence.\n",
        "outside.md": "Outside.\n", client.user: "User @~/home.md and @near.md\n", "home.md": "Home.\n",
        str(pathlib.PurePath(client.user).parent / "near.md"): "Near.\n"})


def chain(place, client):
    """Imports one behind the other, past every client's limit."""
    place.git("init", "-q")
    files = {"project/d/n%d.md" % n: "Number %d: @n%d.md\n" % (n, n + 1) for n in range(1, 12)}
    place.write(dict(files, **{"project/" + client.file: "Start: @d/n1.md\nStop.\n"}))


def memory(place, client, lines=260, width=1):
    place.git("init", "-q")
    place.write({"project/" + client.file: "Project.\n"})
    index = "".join("- [m%d](m%d.md) - hook number %d%s\n" % (n, n, n, " and more" * width) for n in range(1, lines))
    if isinstance(client, ClaudeCode):
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(place.home / "project"))
        place.write({".claude/projects/%s/memory/MEMORY.md" % slug: index})
    elif isinstance(client, Codex):
        place.write({".codex/config.toml": "[features]\nmemories = true\n", ".codex/memories/memory_summary.md": "v1\n" + index})
    elif isinstance(client, Gemini):
        place.write({".gemini/projects.json": json.dumps({"projects": {str(place.cwd): "project"}}), ".gemini/tmp/project/.project_root": str(place.cwd),
                     ".gemini/tmp/project/memory/MEMORY.md": index})
    else:
        # These have no memory of their own; a long file instead.
        place.write({"project/" + client.file: index})


def wide_memory(place, client):
    memory(place, client, lines=150, width=30)


def long_file(place, client):
    place.git("init", "-q")
    place.write({"project/" + client.file: "é" * 10000 + "\n" + "long line\n" * 2500, "project/a/" + client.file: "Further.\n"})
    place.cwd = place.home / "project/a"


def worktree(place, client, to="../linked"):
    place.git("init", "-q")
    place.write({"project/" + client.file: "Main.\n", "project/a/x": "x"})
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "first")
    place.git("worktree", "add", "-q", to)
    linked = (place.home / "project" / to).resolve()
    (linked / client.file).write_text("Linked.\n")
    (place.home / "project/CLAUDE.local.md").write_text("Local of the main one.\n")
    memory = re.sub(r"[^A-Za-z0-9]", "-", str(place.home / "project"))
    place.write({".claude/projects/%s/memory/MEMORY.md" % memory: "- [a](a.md) - shared\n"})
    place.cwd = linked / "a"


def worktree_inside(place, client):
    worktree(place, client, ".worktrees/linked")


def crlf(place, client):
    place.git("init", "-q")
    place.write({"project/" + client.file: b"\xef\xbb\xbf# Title\r\n\r\nLine @docs/a.md\r\n\r\n", client.user: b"User\r\nlines\r\n",
                 "project/docs/a.md": b"Import\r\nlines\r\n"})


def link(place, client):
    place.git("init", "-q")
    place.write({"project/docs/real.md": "Real @near.md\n", "project/docs/near.md": "Near.\n", "project/" + client.file: pathlib.PurePath("docs/real.md"),
                 "project/a/" + client.file: pathlib.PurePath("../docs/real.md")})
    place.cwd = place.home / "project/a"


def empty(place, client):
    place.git("init", "-q")
    place.write({client.user: "", "project/" + client.file: "", "project/a/" + client.file: "  \n\t\n", "project/a/b/" + client.file: "Text.\n"})
    place.cwd = place.home / "project/a/b"


def no_git(place, client):
    place.write({client.file: "Above.\n", "project/" + client.file: "Root.\n", "project/a/" + client.file: "Here.\n"})
    place.cwd = place.home / "project/a"


def others(place, client):
    """The files of all clients beside each other, and rules."""
    place.git("init", "-q")
    names = ["AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "GEMINI.md", "CONTEXT.md", ".github/copilot-instructions.md"]
    files = {"project/" + name: "Of %s.\n" % name for name in names}
    files.update({
        "project/.claude/rules/b.md": "Rule b.\n", "project/.claude/rules/a.md": "---\npaths: src/**\n---\nRule a.\n", "project/.claude/rules/sub/c.md": "Rule c.\n",
        "project/.claude/rules/d.md": "---\npaths:\n  - \"**\"\n---\n<!-- hidden -->\nRule d.\n\n<!-- more -->\n\nEnd.\n", ".claude/rules/u.md": "User's rule.\n",
        "project/.github/instructions/a.instructions.md": "---\napplyTo: \"**\"\n---\nAll.\n", "project/.github/instructions/b.instructions.md": "---\napplyTo: \"src/**\"\ndescription: some\n---\nSome.\n",
        ".copilot/instructions/u.instructions.md": "User's.\n", "project/opencode.json": json.dumps({"instructions": ["docs/*.md"]}),
        # What a project names outside of itself is not read by tome, so the user's settings name it here.
        ".config/opencode/opencode.json": json.dumps({"instructions": ["~/more.md"]}),
        "project/docs/b.md": "Docs b.\n", "project/docs/a.md": "Docs a.\n", "project/docs/c.md": "Docs c.\n", "more.md": "More.\n", "project/a/docs/z.md": "Docs z.\n",
        ".gemini/extensions/x/gemini-extension.json": json.dumps({"name": "x", "version": "1.0.0"}), ".gemini/extensions/x/GEMINI.md": "Extension.\n"})
    place.write(files)
    place.cwd = place.home / "project/a"


def names(place, client):
    """Settings that name other files or leave some out."""
    place.git("init", "-q")
    place.write({".claude/settings.json": json.dumps({"claudeMdExcludes": ["**/a/CLAUDE.md"], "autoMemoryEnabled": False}),
                 ".codex/config.toml": "project_doc_max_bytes = 20\nproject_doc_fallback_filenames = [\"NOTES.md\"]\n",
                 ".gemini/settings.json": json.dumps({"context": {"fileName": ["NOTES.md", "GEMINI.md"]}}),
                 ".config/opencode/opencode.jsonc": "{\n  // more\n  \"instructions\": [\"NOTES.md\"],\n}\n",
                 "project/NOTES.md": "Notes é of the root.\n", "project/" + client.file: "Root.\n", "project/a/NOTES.md": "Notes of a.\n",
                 "project/a/" + client.file: "File of a.\n"})
    place.cwd = place.home / "project/a"


def hook(place, client):
    """With tome's hook set up, and a store for it to tell of."""
    place.git("init", "-q")
    place.write({"project/" + client.file: "Project.\n", "project/.memory/MEMORY.md": "# Memory\n\n- [Zebra](zebra.md) - stripes\n",
                 "project/.memory/zebra.md": "---\nname: Zebra\ndescription: stripes\ntype: project\n---\n\nEnclosure 7.\n"})
    client.prepare(place)
    place.tome("setup", client.name, "--yes")


LAYOUTS = [none, plain, nested, imports, chain, memory, wide_memory, long_file, worktree, worktree_inside, crlf, link, empty, no_git, others, names, hook]


def main():
    wanted = sys.argv[2:]
    failed = 0
    for kind in CLIENTS:
        client = kind()
        if wanted and client.name not in wanted:
            continue
        if not client.path:
            print("not run: %s is not installed (put `%s` on PATH, or set %s)" % (client.name, client.program, client.program.upper()))
            continue
        ROOT.mkdir(parents=True, exist_ok=True)
        for layout in LAYOUTS:
            with tempfile.TemporaryDirectory(dir=ROOT, ignore_cleanup_errors=True) as folder:
                place = Place(folder)
                layout(place, client)
                pieces = place.pieces(client)
                wrong = compare(client, pieces, client.run(place), place)
                failed += bool(wrong)
                print("%s %s: %s" % (client.name, layout.__name__, wrong or "equal, %d pieces" % len(pieces)), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
