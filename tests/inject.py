#!/usr/bin/env python3
"""Kills tome, or lets a call of the system fail, at every call by which a verb changes a disk.

    python3 tests/inject.py target/release/tome [VERB…]

Needs strace on Linux. Each verb is traced once; then it is run again for every kind of call and
every count of it that a thread reached, and killed there, or told EIO or ENOSPC. After each run the
next verbs must end within ten seconds, the files of the project must be all old or all new, nothing
outside may have changed, the next change must work, and what a killed process left must be named by
the doctor or be gone. Prints the counts and every fault; exits with 1 if there is one.
"""

import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# What changes a disk. Of `openat` only the calls that may create or cut a file.
CALLS = [
    "openat", "write", "pwrite64", "writev", "rename", "renameat", "renameat2", "unlink",
    "unlinkat", "rmdir", "mkdir", "mkdirat", "fsync", "fdatasync", "ftruncate", "fchmod", "chmod",
    "fchmodat", "link", "linkat", "symlink", "symlinkat", "utimensat", "flock", "copy_file_range",
    "fallocate", "sendfile",
]
EFFECTS = ["signal=KILL", "error=EIO", "error=ENOSPC"]
LIMIT = 10

TYPED = "---\nname: {0}\ndescription: d of {0}\ntype: user\n---\n\nbody of {0}, see [a](a.md)\n"
INDEX = "# Memory\n\n- [a](a.md) - d of a\n- [b](b.md) - d of b\n- [c](c.md) - d of c\n- [x](x.md) - gone\n"
FILES = {
    "project/.memory/MEMORY.md": INDEX,
    "project/.memory/a.md": TYPED.format("a") + "\nOn 2026-01-02 the queue has three workers.\n",
    "project/.memory/b.md": TYPED.format("b"),
    "project/.memory/c.md": TYPED.format("c") + "see [gone](gone.md)\n",
    "project/CLAUDE.md": "# One\n",
    "outside/secret.md": "outside\n",
    ".claude/settings.json": '{\n  "model": "opus"\n}\n',
    ".codex/config.toml": 'model = "x" # mine\n',
    ".gemini/settings.json": '{ "theme": "x" }\n',
    ".config/tome/config.toml": "# mine\nauthor = \"kim\"\n",
}

# Each verb with the verbs before it. A list is the arguments, a tuple those and standard input.
HOOK = '{{"session_id":"s","cwd":"{0}","hook_event_name":"{1}","prompt":"retry the queue",{2}"source":"startup"}}'
TOOL = '"tool_name":"Bash","tool_input":{"command":"make"},"tool_response":"ok",'
VERBS = {
    "write": ([], ["write", "d.md", "--type", "user", "--content", "new"]),
    "overwrite": ([], ["write", "a.md", "--content", "other"]),
    "patch": ([], ["patch", "a.md", "--old", "body", "--new", "text"]),
    "append": ([], ["append", "b.md", "--content", "more"]),
    "delete": ([], ["delete", "a.md", "b.md"]),
    "rename": ([], ["rename", "a.md", "z.md"]),
    "merge": ([], ["merge", "a.md", "b.md"]),
    "index": ([], ["index", "--rewrite"]),
    "undo": ([["delete", "a.md", "b.md"]], ["undo"]),
    "redo": ([["delete", "a.md", "b.md"], ["undo"]], ["redo"]),
    "restore": ([["delete", "a.md"], ["append", "b.md", "--content", "x"]], ["restore", "CHANGE"]),
    "instructions": ([], ["append", "CLAUDE.md", "--content", "two"]),
    "fix": ([], ["curate", "--fix"]),
    "review": ([["review"], "agent"], ["review"]),
    "accept": ([["review"], "agent", ["review"]], ["review", "--accept", "all"]),
    "revert": ([["review"], "agent", ["review"]], ["review", "--revert", "all"]),
    "promote": ([], ["promote", "claude-code:0199e2bb#L1", "--name", "p"]),
    "keep": ([], ["keep", "0199e2bb"]),
    "toc": ([], ["toc"]),
    "recall": ([], ["recall", "retry"]),
    "guard": ([], ["guard", "b.md", "--command", "git push --force*"]),
    "trust": ([], ["trust", "../outside"]),
    "untrust": ([["trust", "../outside"]], ["trust", "../outside", "--remove"]),
    "prune": ([["append", "b.md", "--content", "x"]] * 3, ["history", "--prune", "--older-than", "0h"]),
    "plugin": ([], ["setup", "claude-code", "--plugin", "plug", "--yes"]),
    "session start": ([], (["hook", "claude-code"], ("SessionStart", ""))),
    "prompt": ([], (["hook", "claude-code"], ("UserPromptSubmit", ""))),
    "tool": ([], (["hook", "claude-code"], ("PostToolUse", TOOL))),
}
for agent in ["claude-code", "codex", "gemini", "opencode", "copilot"]:
    VERBS[f"setup {agent}"] = ([], ["setup", agent, "--yes"])
    VERBS[f"setup {agent} --remove"] = (
        [["setup", agent, "--yes"]], ["setup", agent, "--remove", "--yes"])


class Home:
    """A home in memory, with a project."""

    def __init__(self, tome, top):
        self.tome, self.top = tome, top
        self.project = os.path.join(top, "project")
        env = {"HOME": top, "PATH": "/usr/bin:/bin", "TZ": "UTC"}
        self.env = env

    def make(self):
        os.makedirs(os.path.join(self.project, ".git"))
        for path, text in FILES.items():
            self.file(path, text)
        slug = re.sub(r"[^A-Za-z0-9]", "-", self.project)
        lines = []
        for at, (role, text) in enumerate([("user", "retry the queue"), ("assistant", "done")]):
            lines.append(json.dumps({
                "type": role, "uuid": f"u{at}", "sessionId": "0199e2bb", "cwd": self.project,
                "timestamp": f"2026-01-02T10:0{at}:00.000Z",
                "message": {"role": role, "content": text}}))
        self.file(f".claude/projects/{slug}/0199e2bb.jsonl", "\n".join(lines) + "\n")

    def file(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, verb, before=()):
        """Returns the exit code (None after LIMIT), the output and the seconds."""
        given = b""
        if isinstance(verb, tuple):
            verb, (event, more) = verb
            given = HOOK.format(self.project, event, more).encode()
        verb = [self.deletion() if word == "CHANGE" else word for word in verb]
        since = time.time()
        try:
            done = subprocess.run([*before, self.tome, *verb], cwd=self.project, env=self.env,
                                  input=given, capture_output=True, timeout=LIMIT * (3 if before else 1))
        except subprocess.TimeoutExpired:
            return None, f"{verb} hangs", time.time() - since
        out = (done.stdout + done.stderr).decode(errors="replace")
        return done.returncode, out, time.time() - since

    def deletion(self):
        """Returns the id of the change before the last."""
        done = subprocess.run([self.tome, "history", "--json"], cwd=self.project, env=self.env,
                              capture_output=True, timeout=LIMIT, check=True)
        return json.loads(done.stdout)["changes"][1]["id"]

    def prepare(self, steps):
        for step in steps:
            if step == "agent":
                self.file("project/.memory/b.md", TYPED.format("b") + "an agent's line\n")
                self.file("project/.memory/n.md", TYPED.format("n"))
            else:
                self.run(step)

    def files(self):
        """Returns every file outside tome's own folders, and the temporary ones apart."""
        found, left = {}, []
        own = (".local", ".cache")
        for folder, names, files in os.walk(self.top):
            if folder == self.top:
                names[:] = [name for name in names if name not in own]
            for name in files:
                path = os.path.join(folder, name)
                place = os.path.relpath(path, self.top)
                if ".tome-" in name or name.endswith(".tome.tmp"):
                    left.append(place)
                    continue
                with open(path, "rb") as file:
                    found[place] = file.read()
        return found, left


def reset(template, top):
    shutil.rmtree(top, ignore_errors=True)
    subprocess.run(["cp", "-a", template, top], check=True)


def points(home, verb, trace):
    """Returns every kind of call with every count of it at which a disk may change."""
    home.run(verb, ["strace", "-f", "-qq", "-e", "trace=" + ",".join(CALLS), "-o", trace])
    counts, found = collections.Counter(), set()
    with open(trace, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = re.match(r"(\d+) +(\w+)\(", line)
            if not match:
                continue
            counts[match.groups()] += 1
            call = match.group(2)
            if call == "openat" and not re.search(r"O_CREAT|O_TRUNC|O_WRONLY|O_RDWR", line):
                continue
            found.add((call, counts[match.groups()]))
    return sorted(found)


def check(home, name, at, before, after):
    """Returns the faults that a run left behind."""
    faults, slowest = [], 0.0

    def run(verb):
        nonlocal slowest
        code, out, seconds = home.run(verb)
        slowest = max(slowest, seconds)
        if code is None or seconds > LIMIT:
            faults.append(("hang", f"{name} {at}: {verb} {seconds:.1f} s"))
        elif code not in (0, 1, 2) or "panicked" in out:
            faults.append(("blocked", f"{name} {at}: {verb} {code}: {out[-200:]}"))
        return code, out

    run(["list"])
    now, _ = home.files()
    changed = sorted(path for path in before.keys() | after.keys() | now.keys()
                     if now.get(path) not in (before.get(path), after.get(path)))
    inside = ("project" + os.sep, ".claude", ".codex", ".gemini", ".copilot", ".config")
    for path in changed:
        faults.append(("lost" if path.startswith(inside) else "outside", f"{name} {at}: {path}"))
    store = [path for path in before.keys() | after.keys() if path.startswith("project/.memory")]
    is_old = all(now.get(path) == before.get(path) for path in store)
    is_new = all(now.get(path) == after.get(path) for path in store)
    if not (is_old or is_new):
        faults.append(("lost", f"{name} {at}: half a change"))
    code, out = run(["append", "c.md", "--content", "later"])
    if code != 0:
        faults.append(("blocked", f"{name} {at}: append {code}: {out[-300:]}"))
    elif "later" not in (home.files()[0].get("project/.memory/c.md") or b"").decode():
        faults.append(("lost", f"{name} {at}: the later line"))
    code, out = run(["history", "--json"])
    if code not in (0, 1) or '"changes"' not in out:
        faults.append(("blocked", f"{name} {at}: history {code}"))
    # What was left is old enough a while later.
    _, left = home.files()
    for path in left:
        os.utime(os.path.join(home.top, path), (1, 1))
    if left:
        _, told = run(["doctor"])
        run(["setup", "gemini", "--dry-run"])
        run(["append", "c.md", "--content", "again"])
        _, still = home.files()
        for path in still:
            word = "leftover" if os.path.basename(path) in told else "untold leftover"
            faults.append((word, f"{name} {at}: {path}"))
    return faults, slowest, len(left)


def attack(tome, name):
    steps, verb = VERBS[name]
    base = tempfile.mkdtemp(prefix="tome-inject-", dir="/dev/shm")
    top, template = os.path.join(base, "home"), os.path.join(base, "template")
    try:
        home = Home(tome, top)
        home.make()
        home.prepare(steps)
        shutil.copytree(top, template, symlinks=True)
        before, _ = home.files()
        code, out, _ = home.run(verb)
        after, _ = home.files()
        usual = (code, out[-120:])
        reset(template, top)
        todo = points(home, verb, os.path.join(base, "trace"))
        runs, faults, slowest, left = 0, [], 0.0, 0
        for call, count in todo:
            for effect in EFFECTS:
                if call == "flock" and effect == "error=ENOSPC":
                    continue
                reset(template, top)
                strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                          "-e", f"inject={call}:{effect}:when={count}"]
                at = f"{call} {count} {effect}"
                _, out, seconds = home.run(verb, strace)
                runs += 1
                if "panicked" in out:
                    faults.append(("panic", f"{name} {at}: {out[-300:]}"))
                if seconds > LIMIT:
                    faults.append(("hang", f"{name} {at}: {seconds:.1f} s"))
                more, slow, rest = check(home, name, at, before, after)
                faults += more
                slowest, left = max(slowest, slow, seconds), left + rest
        return name, usual, runs, faults, slowest, left
    finally:
        shutil.rmtree(base, ignore_errors=True)


def main():
    tome = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or list(VERBS)
    total, counts = 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(lambda name: attack(tome, name), names):
            name, usual, runs, faults, slowest, left = done
            total += runs
            counts.update(kind for kind, _ in faults)
            print(f"{name:26} {runs:5} runs, {len(faults)} faults, {left} left and named or swept, "
                  f"slowest {slowest:.1f} s (exit {usual[0]})", flush=True)
            for kind, what in faults:
                print(f"  {kind}: {what}", flush=True)
    kinds = ["lost", "outside", "blocked", "hang", "panic", "leftover", "untold leftover"]
    print(f"{total} kills and errors: " + ", ".join(f"{counts[kind]} {kind}" for kind in kinds))
    sys.exit(1 if counts else 0)


main()
