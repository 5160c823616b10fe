"""What the tests of Gemini CLI, OpenCode and Copilot CLI share: a home with a project, a session, and what must hold of it.

A client is set up by `tome setup`, runs its prompts offline against a stand-in, and is taken out again. The claims of each
part are in its function; what fails is said, and the exit status is 1.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/debug/tome").resolve()
PROMPT = "find the zebra"

failures = []


def check(held, what):
    if not held:
        failures.append(what)
        print("FAILED: " + what[:3000], file=sys.stderr)


class Client:
    """How a client is run. `program` is looked for on PATH, and is the name of the variable that says where it is else."""
    name = program = agent = ""
    #: The name of tome's tools before their own.
    prefix = ""
    #: A tool of the client's own that runs a command, and its arguments.
    shell = None
    #: The events that its hooks tell of.
    kinds = ["session_start", "user_message", "tool_result", "assistant_stop"]

    def __init__(self):
        self.path = os.environ.get(self.program.upper()) or shutil.which(self.program)

    def prepare(self, place):
        """Writes the settings that a user of the client has."""

    def resumes(self):
        """The arguments of a prompt that goes on with the last session; empty if there are none."""
        return []


class Place:
    """A home and a project of their own, with a memory."""

    def __init__(self, folder, client):
        self.client = client
        self.home = pathlib.Path(folder).resolve()
        self.project = self.home / "project"
        (self.project / ".memory").mkdir(parents=True)
        (self.project / ".git").mkdir()
        (self.project / ".memory/MEMORY.md").write_text("# Memory\n\n- [Zebra](zebra.md) — the zebra has stripes\n")
        (self.project / ".memory/zebra.md").write_text(
            "---\nname: Zebra\ndescription: the zebra has stripes\ntype: project\n---\n\nThe zebra lives in enclosure 7.\n")
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C.UTF-8"}
        client.prepare(self)

    def run_tome(self, *args):
        return subprocess.run([str(TOME), *args], cwd=self.project, env=self.env, capture_output=True, text=True)

    def tome(self, *args):
        done = self.run_tome(*args)
        check(done.returncode == 0, "tome %s: %s" % (" ".join(args), done.stderr))
        return done.stdout

    def files(self):
        """Every file but tome's own: its path and its bytes."""
        own = self.home / ".local/share/tome"
        files = (path for path in self.home.rglob("*") if path.is_file() and own not in path.parents)
        return {str(path.relative_to(self.home)): path.read_bytes() for path in files}

    def run(self, turns, prompt=PROMPT, more=()):
        """Runs one prompt; returns what it printed and what the client sent."""
        stand_in = self.client.stand_in(turns)
        env = dict(self.env, **self.client.env(stand_in, self))
        try:
            done = subprocess.run([self.client.path, *self.client.args(prompt), *more], cwd=self.project, env=env, capture_output=True,
                                  text=True, timeout=400, stdin=subprocess.DEVNULL)
        finally:
            stand_in.close()
        check(done.returncode == 0, "%s ends well: %s %s" % (self.client.name, done.stdout[-1500:], done.stderr[-1500:]))
        return self.client.printed(done.stdout), [json.dumps(request, ensure_ascii=False) for request in stand_in.requests]

    def events(self):
        files = (self.home / ".local/share/tome/events").glob("*/events.jsonl")
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def given_back(place):
    """Set-up and then its removal leave every byte as it was, for the user and for the project."""
    for scope in ([], ["--project"]):
        before = place.files()
        place.tome("setup", place.client.agent, *scope, "--yes")
        check(place.files() != before, "setup %s writes something" % scope)
        place.tome("setup", place.client.agent, *scope, "--remove", "--yes")
        after = place.files()
        different = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        check(not different, "setup %s and its removal leave %s different" % (scope, different))


def printed(place):
    """A prompt prints with tome what it prints without it."""
    plain, _ = place.run([{"text": "Found it."}])
    place.tome("setup", place.client.agent, "--yes")
    told, requests = place.run([{"text": "Found it."}])
    check(plain.strip() != "", "something is printed")
    check(told == plain, "the same is printed: %r, without tome %r" % (told, plain))
    check(not any("Storing in coder memory" in request for request in requests), "a run without a user is not reminded")


def everything(place):
    """The tools are there and work, the context is given, and what happened is captured with its time."""
    client = place.client
    place.tome("setup", client.agent, "--yes")
    started = time.time() * 1000
    turns = [
        {"call": (client.prefix + "recall_memory", {"query": "zebra"})},
        {"call": (client.prefix + "memory_write", {
            "filename": "feeding.md", "name": "Feeding", "description": "when the zebra is fed", "memory_type": "project",
            "content": "The zebra is fed at noon."})},
        *([{"call": client.shell}] if client.shell else []),
        {"text": "Found it."},
    ]
    said, requests = place.run(turns)
    ended = time.time() * 1000
    sent = "\n".join(requests)
    check("Found it." in said, "the answer is printed: %r" % said)
    check("the zebra has stripes" in client.first(requests), "the context arrives with the first request")
    for tool in ["recall_memory", "memory_write", "memory_read", "memory_list", "coder_memory_store", "get_events"]:
        check(client.prefix + tool in client.first(requests), "%s is offered" % tool)
    check("Citation: zebra.md#L" in sent, "recall_memory answers: " + sent[-1500:])
    check("Source: messages" not in sent, "the running session is no hit: " + sent[-3000:])
    check("Memory saved: feeding.md" in sent, "memory_write answers: " + sent[-1500:])
    written = place.project / ".memory/feeding.md"
    check(written.exists() and written.read_text().endswith("\n\nThe zebra is fed at noon.\n"), "the memory is on disk")
    check("feeding.md" in (place.project / ".memory/MEMORY.md").read_text(), "the index has it")
    history = json.loads(place.tome("history", "--json", "--store", "./.memory"))["changes"]
    check(history and history[0]["door"] == "mcp", "the history has it: %s" % history[:1])
    events = place.events()
    kinds = [event["event_type"] for event in events]
    for kind in client.kinds:
        check(kind in kinds, "%s is captured: %s" % (kind, kinds))
    check(kinds.count("user_message") == 1, "the prompt is captured once: %s" % kinds)
    check(any(PROMPT in event["text"] for event in events if event["event_type"] == "user_message"), "the prompt is captured")
    answers = [event["text"] for event in events if event["role"] == "assistant"]
    check(any("Found it." in text for text in answers), "the answer is captured: %s" % answers)
    for event in events:
        check(started - 1000 <= event["timestamp"] <= ended + 1000, "the event has its time: %s" % event["timestamp"])
    check(len({event["session_id"] for event in events}) == 1, "the events are of one session")
    logs = [log for log in json.loads(place.tome("logs", "--json"))["logs"] if log["agent"] == client.agent]
    check(len(logs) == 1, "tome logs shows the session: %s" % logs)
    check(logs and PROMPT in place.tome("log", logs[0]["id"]), "tome log reads it")
    check(client.agent + ":" in place.tome("recall", PROMPT), "tome recall finds its words")
    resumed(place)


def resumed(place):
    """A session that is resumed keeps its first prompt."""
    more = place.client.resumes()
    if not more:
        return
    _, requests = place.run([{"text": "Still there."}], prompt="and the lion", more=more)
    last = requests[-1] if requests else ""
    check(PROMPT in last and "and the lion" in last, "the first prompt is kept: " + last[-2000:])


def main(client):
    if not client.path:
        print("not run: %s is not installed (put `%s` on PATH, or set %s)" % (client.name, client.program, client.program.upper()))
        return 0
    for part in [given_back, printed, everything]:
        with tempfile.TemporaryDirectory() as folder:
            before = len(failures)
            part(Place(folder, client))
            print("%s: %s ... %s" % (client.name, part.__name__, "ok" if len(failures) == before else "FAILED"), flush=True)
    return 1 if failures else 0
