#!/usr/bin/env python3
"""The real Codex against tome, offline: its hooks, its MCP calls, its rollout, its consolidation of memories.

Run: python3 tests/clients/codex.py [TOME]      (TOME: the program; default target/debug/tome)
The client is `codex` on PATH, or the one that CODEX names. Without it nothing is tested, and that is said.
The Responses API is stood in for on 127.0.0.1; nothing leaves the machine.
"""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).resolve().parent
TOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/debug/tome").resolve()
CODEX = os.environ.get("CODEX") or shutil.which("codex")

failures = []


def check(held, what):
    if not held:
        failures.append(what)
        print("FAILED: " + what[:3000], file=sys.stderr)


class StandIn:
    """Answers each request with the list of output items that `answer` returns for it."""

    def __init__(self, answer):
        self.requests = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply("application/json", b'{"models": [], "data": []}')

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if not self.path.endswith("/responses"):
                    return self.reply("application/json", b"{}")
                stand_in.requests.append(body.decode("utf-8", "replace"))
                items = answer(stand_in.requests[-1])
                events = [{"type": "response.created", "response": {"id": "r"}}]
                events += [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
                usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
                events.append({"type": "response.completed", "response": {"id": "r", "usage": usage, "output": []}})
                text = "".join("event: %s\ndata: %s\n\n" % (event["type"], json.dumps(event)) for event in events)
                self.reply("text/event-stream", text.encode())

            def reply(self, kind, body):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def message(text):
    return {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": text}]}


def call(number, name, /, namespace=None, **given):
    item = {"type": "function_call", "id": "f%d" % number, "call_id": "c%d" % number, "name": name, "arguments": json.dumps(given)}
    return dict(item, namespace=namespace) if namespace else item


def run_codex(stand_in, project, env, *more):
    """Runs one prompt; returns how it ended."""
    settings = [
        "model=\"stand-in\"", "model_provider=\"stand_in\"", "approval_policy=\"never\"",
        "model_providers.stand_in={name=\"stand-in\", base_url=\"http://127.0.0.1:%d/v1\", wire_api=\"responses\", env_key=\"STAND_IN_KEY\"}" % stand_in.port,
    ]
    flags = [part for setting in settings for part in ("-c", setting)]
    done = subprocess.run([CODEX, "exec", *flags, *more, "--dangerously-bypass-approvals-and-sandbox", "find the zebra"],
                          cwd=project, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    stand_in.server.shutdown()
    return done


def session(home):
    project = home / "project"
    (project / ".memory").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".memory/MEMORY.md").write_text("# Memory\n\n- [Zebra](zebra.md) — the zebra has stripes\n")
    (project / ".memory/zebra.md").write_text("---\nname: Zebra\ndescription: the zebra has stripes\ntype: project\n---\n\nEnclosure 7.\n")
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "STAND_IN_KEY": "x"}

    def tome(*args):
        done = subprocess.run([str(TOME), *args], cwd=project, env=env, capture_output=True, text=True)
        check(done.returncode == 0, "tome %s: %s" % (" ".join(args), done.stderr))
        return done.stdout

    def files():
        own = home / ".local/share/tome"
        return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file() and own not in path.parents}

    def codex(turns):
        """Runs one prompt; returns how it ended and what the client sent."""
        stand_in = StandIn(lambda _: turns.pop(0) if turns else [message("ok")])
        done = run_codex(stand_in, project, env, "--dangerously-bypass-hook-trust")
        return done, stand_in.requests

    for scope in ([], ["--project"]):
        before = files()
        tome("setup", "codex", *scope, "--yes")
        check(files() != before, "set-up %s writes something" % scope)
        tome("setup", "codex", *scope, "--remove", "--yes")
        check(files() == before, "set-up %s and its removal give back every byte" % scope)
    plain, _ = codex([[message("Found it.")]])
    # The session without tome is no session to be found below.
    shutil.rmtree(home / ".codex/sessions")
    tome("setup", "codex", "--yes")
    listed = subprocess.run([CODEX, "mcp", "list"], cwd=project, env=env, capture_output=True, text=True).stdout
    # Codex lists servers without connecting to them; that it can is shown by the call below.
    check(any(line.startswith("tome ") and "enabled" in line for line in listed.splitlines()), "codex mcp list has the server enabled: " + listed)
    tome("list")
    memory = project / ".memory"
    patch = "*** Begin Patch\n*** Update File: %s\n@@\n-Enclosure 7.\n+Enclosure 12.\n*** Add File: %s\n+Ask Noor about the zebra.\n*** End Patch" % (memory / "zebra.md", memory / "keeper.md")
    done, requests = codex([
        [call(1, "recall_memory", namespace="mcp__tome", query="zebra")],
        [call(3, "exec_command", cmd="apply_patch <<'EOF'\n%s\nEOF" % patch)],
        [call(4, "memory_write", namespace="mcp__tome", filename="feeding.md", name="Feeding", description="when the zebra is fed",
              memory_type="project", content="The zebra is fed at noon.", store=".memory")],
        [call(2, "update_plan", plan=[{"step": "step %d" % n, "status": "pending"} for n in range(6)])],
        [message("Found it.")],
    ])
    sent = "\n".join(requests)
    check(done.returncode == 0, "codex ends well: %s %s" % (done.stdout, done.stderr))
    check(plain.stdout == "Found it.\n", "the answer is printed without tome: %r" % plain.stdout)
    check(done.stdout == plain.stdout, "with tome, the same is printed: %r" % done.stdout)
    check("clamping" not in done.stderr, "no hook waits longer than Codex does: " + done.stderr)
    check("the zebra has stripes" in (requests or [""])[0], "the context arrives with the first request: " + done.stderr)
    check("Citation: zebra.md#L" in sent, "recall_memory answers: " + sent[-1500:])
    files = list((home / ".local/share/tome/events").glob("*/events.jsonl"))
    events = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    kinds = [event["event_type"] for event in events]
    for kind in ["session_start", "user_message", "assistant_stop"]:
        check(kind in kinds, "%s is captured: %s" % (kind, kinds))
    print("tools that Codex told of: %s" % [event["metadata"].get("tool_name") for event in events if event["event_type"] == "tool_result"])
    check("find the zebra" in tome("logs"), "tome logs shows the session")
    check("codex:" in tome("recall", "find the zebra"), "tome recall finds its words")
    reviewed(tome, memory, review(project, env))
    tome("setup", "codex", "--remove", "--yes")
    check(not (home / ".codex/hooks.json").exists(), "tome is taken out")


MEMORY = "# Task Group: shop\n\nscope: checkout\n\n## Task 1: Fix the cart\n\n### keywords\n\n- cart\n\n## Task 2: Pin the compiler\n\n### keywords\n\n- compiler\n"
SUMMARY = "v1\n\n## User Profile\n\nA keeper.\n\n## User preferences\n\n- tabs\n- spaces\n\n## General Tips\n\n- tip\n\n## What's in Memory\n\n### shop\n"


def consolidation(home):
    """What tome deletes from Codex's memory stays deleted when Codex consolidates it, and is told to the model that does."""
    project, ready, own = home / "project", home / "ready", home / ".codex/memories_v2"
    for folder in (project / ".git", ready, home / ".codex"):
        folder.mkdir(parents=True)
    (ready / "MEMORY.md").write_text(MEMORY)
    (ready / "memory_summary.md").write_text(SUMMARY)
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "STAND_IN_KEY": "x"}

    def consolidate(command):
        """Runs a prompt for as long as the consolidation beside it takes, whose model runs this command; returns what it was sent."""
        sent, ended = [], threading.Event()

        def answer(request):
            if "phase2_workspace_diff" not in request:
                ended.wait(60)
                return [message("ok")]
            sent.append(request)
            if len(sent) == 1:
                return [call(1, "exec_command", cmd="cat %s/phase2_workspace_diff.md; %s" % (own, command))]
            threading.Timer(3, ended.set).start()
            return [message("done")]

        stand_in = StandIn(answer)
        done = run_codex(stand_in, project, env, "-c", "features.memories=true")
        check(done.returncode == 0 and len(sent) == 2, "Codex consolidates: %s %s" % (done.stderr, len(sent)))
        return sent[-1] if sent else ""

    consolidate("cp %s/* %s/" % (ready, own))
    check((own / "MEMORY.md").read_text() == MEMORY, "the model writes into %s" % own)
    for database in (home / ".codex").glob("memories*_1.sqlite"):
        with sqlite3.connect(database) as jobs:  # The next run shall not wait.
            jobs.execute("update jobs set started_at = started_at - 100000, finished_at = finished_at - 100000, retry_at = null")

    def tome(*args):
        done = subprocess.run([str(TOME), *args], cwd=project, env=env, capture_output=True, text=True)
        check(done.returncode == 0, "tome %s: %s" % (" ".join(args), done.stderr))

    tome("delete", "codex:MEMORY.md#task-2-pin-the-compiler")
    tome("patch", "codex:memory_summary.md", "--old", "- spaces\n", "--new", "")
    files = {path: path.read_bytes() for path in [own / "MEMORY.md", own / "memory_summary.md", *(own / "extensions/ad_hoc/notes").iterdir()]}
    check(len(files) == 4 and MEMORY.startswith(files[own / "MEMORY.md"].decode()), "each change has its note: %s" % list(files))
    told = json.loads(consolidate("true"))["input"][-1]["output"]
    for words in ["-## Task 2: Pin the compiler", "-- spaces", "+The user deleted this from MEMORY.md. Delete it from every memory file", "+> - spaces"]:
        check(words in told, "the consolidation is told %r: %s" % (words, told))
    check(all(path.read_bytes() == text for path, text in files.items()), "what was deleted stays deleted")


def review(project, env):
    """What waits, by file."""
    done = subprocess.run([str(TOME), "review", "--json"], cwd=project, env=env, capture_output=True, text=True)
    check(done.returncode in (0, 1), "tome review: " + done.stderr)
    return {item["path"]: item for item in json.loads(done.stdout)["items"]}


def reviewed(tome, memory, waiting):
    """What the client wrote, with a patch and through MCP, waits with its session and message, and is taken back."""
    after = {file.name: file.read_text() for file in memory.iterdir()}
    session = json.loads(tome("logs", "--json"))["logs"][0]["id"]
    for path, change in [("zebra.md", "changed"), ("keeper.md", "added"), ("feeding.md", "added")]:
        item = waiting.get(path) or {}
        author = item.get("author", {})
        check(item.get("change") == change, "%s waits: %s" % (path, list(waiting)))
        check(author.get("agent") == "codex" and author.get("session") == session, "%s has its session: %s" % (path, author))
        check(str(author.get("citation")).startswith("codex:%s#L" % session), "%s has its message: %s" % (path, author))
    why = json.loads(tome("why", "zebra.md#L%d" % len((memory / "zebra.md").read_text().splitlines()), "--json"))["calls"]
    check(why and why[0]["citation"] == waiting["zebra.md"]["author"]["citation"], "why names that message: %s" % why)
    check(why and why[0]["words"]["text"] == "find the zebra", "why names the words before it: %s" % why)
    tome("review", "--revert", session)
    check("Enclosure 7." in (memory / "zebra.md").read_text(), "the patch is reverted")
    check(not (memory / "keeper.md").exists() and not (memory / "feeding.md").exists(), "all of the session is reverted")
    tome("undo")
    check({file.name: file.read_text() for file in memory.iterdir()} == after, "the revert is undone")


def main():
    if not CODEX:
        print("not run: Codex is not installed (put `codex` on PATH, or set CODEX)")
        return 0
    for part in (session, consolidation):
        with tempfile.TemporaryDirectory() as folder:
            part(pathlib.Path(folder))
    print("Codex ... %s" % ("FAILED" if failures else "ok"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
