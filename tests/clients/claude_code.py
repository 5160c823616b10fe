#!/usr/bin/env python3
"""The real Claude Code against tome, offline: its hooks, its MCP calls, its transcript.

Run: python3 tests/clients/claude_code.py [TOME]      (TOME: the program; default target/debug/tome)
The client is `claude` on PATH, or the one that CLAUDE names. Without it nothing is tested, and that is said.
The Messages API is stood in for on 127.0.0.1; nothing leaves the machine.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from stand_in import StandIn

HERE = pathlib.Path(__file__).resolve().parent
TOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/debug/tome").resolve()
CLAUDE = os.environ.get("CLAUDE") or shutil.which("claude")
TMUX = shutil.which("tmux")
POINTER = "With recalled memory, please replan if needed"


def use(tool, **given):
    return {"type": "tool_use", "name": tool, "input": given}


def say(text):
    return {"type": "text", "text": text}


def task(number):
    return use("TaskCreate", subject="Step %d" % number, description="The step number %d" % number, activeForm="Doing step %d" % number)


class Place:
    """A home and a project of their own, with tome set up in the project."""

    def __init__(self, folder):
        self.home = pathlib.Path(folder)
        self.project = self.home / "project"
        (self.project / ".memory").mkdir(parents=True)
        (self.project / ".git").mkdir()
        (self.project / ".memory/MEMORY.md").write_text("# Memory\n\n- [Zebra](zebra.md) — the zebra has stripes\n")
        (self.project / ".memory/zebra.md").write_text("---\nname: Zebra\ndescription: the zebra has stripes\ntype: project\n---\n\nThe zebra lives in enclosure 7.\n")
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TZ": "UTC"}
        stand_in = StandIn([[say("Found it.")]])
        self.plain = self.claude("-p", "find the zebra", stand_in=stand_in).stdout
        stand_in.close()
        before = self.files()
        for scope in ([], ["--project"]):
            self.tome("setup", "claude-code", *scope, "--yes")
            self.tome("setup", "claude-code", *scope, "--remove", "--yes")
            check(self.files() == before, "set-up %s and its removal give back every byte" % scope)
        self.tome("setup", "claude-code", "--project", "--yes")
        (self.home / "mcp.json").write_text(json.dumps(
            {"mcpServers": {"tome": {"command": str(TOME), "args": ["mcp", "--store", "./.memory"]}}}))

    def tome(self, *args):
        done = subprocess.run([str(TOME), *args], cwd=self.project, env=self.env, capture_output=True, text=True)
        check(done.returncode == 0, "tome %s: %s" % (" ".join(args), done.stderr))
        return done.stdout

    def review(self):
        """What waits, by file."""
        done = subprocess.run([str(TOME), "review", "--json"], cwd=self.project, env=self.env, capture_output=True, text=True)
        check(done.returncode in (0, 1), "tome review: " + done.stderr)
        return {item["path"]: item for item in json.loads(done.stdout)["items"]}

    def files(self):
        """Every file but tome's own: its path and its bytes."""
        own = self.home / ".local/share/tome"
        files = (path for path in self.home.rglob("*") if path.is_file() and own not in path.parents)
        return {str(path): path.read_bytes() for path in files}

    def claude(self, *args, stand_in=None):
        env = dict(self.env, ANTHROPIC_API_KEY="sk-test-x", DISABLE_TELEMETRY="1", DISABLE_AUTOUPDATER="1",
                   CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", CLAUDE_CODE_ENABLE_TASKS="1",
                   ANTHROPIC_BASE_URL=stand_in.url if stand_in else "http://127.0.0.1:9")
        done = subprocess.run([CLAUDE, *args], cwd=self.project, env=env, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL)
        return done

    def session(self, turns):
        """Runs one prompt; answers what the client sent and the events that hooks captured."""
        stand_in = StandIn(turns)
        try:
            done = self.claude("-p", "find the zebra", "--mcp-config", str(self.home / "mcp.json"), "--strict-mcp-config",
                               "--allowedTools", "Bash", "Read", "Write", "Edit", "mcp__tome__*", "TaskCreate", stand_in=stand_in)
        finally:
            stand_in.close()
        check(done.returncode == 0, "claude ends well: %s %s" % (done.stdout, done.stderr))
        self.printed = done.stdout
        return stand_in.requests

    def events(self):
        files = list((self.home / ".local/share/tome/events").glob("*/events.jsonl"))
        check(len(files) == 1, "one store of events: %s" % files)
        return [json.loads(line) for line in files[0].read_text().splitlines()]


class Screen:
    """The terminal UI in a terminal of its own, a tmux server that nobody else uses."""

    def __init__(self, place):
        self.socket = str(place.home / "tmux")
        self.tmux("new-session", "-d", "-x", "120", "-y", "36", str(TOME), cwd=place.project,
                  env=dict(place.env, TERM="xterm-256color", LANG="C.UTF-8"))

    def tmux(self, *args, **more):
        return subprocess.run([TMUX, "-f", "/dev/null", "-S", self.socket, *args], capture_output=True, text=True, check=True, **more).stdout

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def until(self, held, what):
        """Waits for a condition on what is shown, and answers whether it came."""
        deadline = time.monotonic() + 60
        shown = ""
        while time.monotonic() < deadline:
            shown = self.tmux("capture-pane", "-p")
            if held(shown):
                return True
            time.sleep(0.05)
        check(False, "%s; the screen:\n%s" % (what, shown))
        return False

    def close(self):
        self.tmux("kill-server")


failures = []


def check(held, what):
    if held:
        return
    failures.append(what)
    print("FAILED: " + what[:2000], file=sys.stderr)


def everything(place):
    requests = place.session([
        [say("Let me look."), use("mcp__tome__recall_memory", query="zebra")],
        [use("mcp__tome__memory_write", filename="feeding.md", name="Feeding", description="when the zebra is fed",
             memory_type="project", content="The zebra is fed at noon.")],
        [use("Bash", command="echo zebra-output", description="say zebra")],
        [task(number) for number in range(1, 7)],
        [say("Found it.")],
        [say("Nothing to store.")],
    ])
    sent = json.dumps(requests, ensure_ascii=False)
    first = json.dumps(requests[0], ensure_ascii=False)
    check("the zebra has stripes" in first and "Current memory index" in first, "the context arrives with the first request")
    check("result(s) for: " in sent and "Citation: zebra.md#L" in sent, "recall_memory answers")
    check("Memory saved: feeding.md" in sent, "memory_write answers")
    check((place.project / ".memory/feeding.md").read_text().endswith("\n\nThe zebra is fed at noon.\n"), "the file is on disk")
    check("feeding.md" in (place.project / ".memory/MEMORY.md").read_text(), "the index has it")
    # Nobody is there, so nobody is reminded, and what is printed is the answer.
    check(POINTER not in sent and "Storing in coder memory" not in sent, "a run without a user is not reminded")
    check(place.plain == "Found it.\n", "the answer is printed without tome: %r" % place.plain)
    check(place.printed == place.plain, "with tome, the same is printed: %r" % place.printed)
    tools = [tool for tool in requests[0]["tools"] if tool["name"].startswith("mcp__tome__")]
    check(any(tool["name"] == "mcp__tome__recall_memory" for tool in tools), "recall_memory is loaded at the start")
    events = place.events()
    kinds = [event["event_type"] for event in events]
    for kind in ["session_start", "user_message", "tool_result", "assistant_stop", "session_end"]:
        check(kind in kinds, "%s is captured: %s" % (kind, kinds))
    check(any(event["text"] == "find the zebra" for event in events), "the prompt is captured")
    check(any("zebra-output" in event["text"] for event in events), "the tool's output is captured")
    check(kinds.count("assistant_stop") == 1, "the turn ends once: %s" % kinds)
    session = events[0]["session_id"]
    logs = json.loads(place.tome("logs", "--json"))
    check(any(log.get("id") == session for log in logs["logs"]), "tome logs shows that very session: %s" % logs)
    check("find the zebra" in place.tome("log", session), "tome log reads it")
    check("claude-code:%s#L" % session in place.tome("recall", "find the zebra"), "tome recall finds the prompt")
    check("claude-code:%s#L" % session in place.tome("recall", "zebra-output"), "tome recall finds the tool's output")
    history = json.loads(place.tome("history", "--json", "--store", "./.memory"))["changes"]
    check(history and history[0]["door"] == "mcp" and history[0]["who"] == "claude-code", "the client signs: %s" % history[:1])
    undone_by_a_person(place)


def undone_by_a_person(place):
    """The write is in the terminal UI's history, and one key takes it back."""
    if not TMUX:
        print("not run: the terminal UI, for tmux is not installed")
        return
    written = place.project / ".memory/feeding.md"
    index = (place.project / ".memory/MEMORY.md")
    screen = Screen(place)
    try:
        screen.until(lambda shown: "Feeding" in shown or "feeding" in shown, "the UI shows the memory")
        screen.press("H")
        if screen.until(lambda shown: "claude-code" in shown and "feeding.md" in shown, "the history shows the write and who made it"):
            screen.press("u")
            # What would be undone is shown first.
            screen.until(lambda shown: "- The zebra is fed at noon." in shown, "the undo is shown before it is made")
            screen.press("Enter")
            screen.until(lambda _: not written.exists(), "the write is undone")
            check("feeding.md" not in index.read_text(), "the index has it no more")
            check("zebra.md" in index.read_text(), "the index has the rest: " + index.read_text())
            newest = json.loads(place.tome("history", "--json", "--store", "./.memory"))["changes"][0]
            check(newest["door"] == "tui" and newest["verb"] == "undo", "the undo is in the history: %s" % newest)
    finally:
        screen.close()


def reviewed(place):
    """What the client writes, directly and through MCP, waits with its session and message, and is taken back."""
    memory = place.project / ".memory"
    place.tome("list")
    before = (memory / "zebra.md").read_text()
    place.session([
        [use("Read", file_path=str(memory / "zebra.md"))],
        [use("Edit", file_path=str(memory / "zebra.md"), old_string="enclosure 7", new_string="enclosure 12")],
        [use("Write", file_path=str(memory / "keeper.md"), content="---\nname: Keeper\ndescription: who keeps the zebra\ntype: project\n---\n\nAsk Noor about the zebra.\n")],
        [use("mcp__tome__memory_write", filename="feeding.md", name="Feeding", description="when the zebra is fed",
             memory_type="project", content="The zebra is fed at noon.")],
        [say("Done.")],
    ])
    session = place.events()[0]["session_id"]
    waiting = place.review()
    for path, change in [("zebra.md", "changed"), ("keeper.md", "added"), ("feeding.md", "added")]:
        item = waiting.get(path) or {}
        author = item.get("author", {})
        check(item.get("change") == change, "%s waits: %s" % (path, list(waiting)))
        check(author.get("agent") == "claude-code" and author.get("session") == session, "%s has its session: %s" % (path, author))
        check(str(author.get("citation")).startswith("claude-code:%s#L" % session), "%s has its message: %s" % (path, author))
    lines = (memory / "zebra.md").read_text().splitlines()
    why = json.loads(place.tome("why", "zebra.md#L%d" % len(lines), "--json"))["calls"]
    check(why and why[0]["citation"] == waiting["zebra.md"]["author"]["citation"], "why names that message: %s" % why)
    check(why and why[0]["words"]["text"] == "find the zebra", "why names the words before it: %s" % why)
    touched = {(one["use"], pathlib.Path(one["file"]).name) for one in json.loads(place.tome("why", "--session", session, "--json"))["files"]}
    wanted = {("read", "zebra.md"), ("write", "zebra.md"), ("write", "keeper.md"), ("write", "feeding.md")}
    check(wanted <= touched, "the session names its memories: %s" % touched)
    after = {file.name: file.read_text() for file in memory.iterdir()}
    place.tome("review", "--revert", waiting["zebra.md"]["hunks"][0]["id"])
    check((memory / "zebra.md").read_text() == before, "the edit is reverted")
    place.tome("review", "--revert", session)
    check(not (memory / "keeper.md").exists() and not (memory / "feeding.md").exists(), "all of the session is reverted")
    check(place.review() == {}, "nothing waits: %s" % place.review())
    place.tome("undo")
    place.tome("undo")
    check({file.name: file.read_text() for file in memory.iterdir()} == after, "the reverts are undone")
    check(set(place.review()) == set(waiting), "it waits again: %s" % list(place.review()))


def listed(place):
    done = place.claude("mcp", "list")
    check("tome" in done.stdout, "claude mcp list knows the project's server: %s %s" % (done.stdout, done.stderr))
    # For the user, the command is the one that setup says.
    said = subprocess.run([str(TOME), "setup", "claude-code", "--yes"], cwd=place.project, env=place.env, capture_output=True, text=True).stderr
    command = next((line.split("claude mcp add", 1)[1].split() for line in said.splitlines() if "claude mcp add" in line), [])
    (place.project / ".mcp.json").unlink()
    added = place.claude("mcp", "add", *command)
    check(added.returncode == 0, "claude mcp add: %s %s" % (added.stdout, added.stderr))
    shown = place.claude("mcp", "list").stdout
    check(any(line.startswith("tome:") and "Connected" in line for line in shown.splitlines()), "claude mcp list reports it connected: " + shown)


def plugin(place):
    place.tome("setup", "claude-code", "--plugin", "../plugin", "--yes")
    done = place.claude("plugin", "validate", "../plugin")
    check(done.returncode == 0, "the plugin is valid: %s %s" % (done.stdout, done.stderr))


def main():
    if not CLAUDE:
        print("not run: Claude Code is not installed (put `claude` on PATH, or set CLAUDE)")
        return 0
    for part in [everything, reviewed, listed, plugin]:
        # The client can still write when its command has ended.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            before = len(failures)
            part(Place(folder))
            print("%s ... %s" % (part.__name__, "ok" if len(failures) == before else "FAILED"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
