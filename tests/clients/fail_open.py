#!/usr/bin/env python3
"""What a real client does when tome, with which it was set up, is missing, broken, frozen or old: the same as without it.

Run: python3 tests/clients/fail_open.py TOME [CLIENT…] [STATE…] [headless | terminal]
The clients are found as by context.py. Each gets one prompt. Headless, it must print what it prints without tome and end as
it does then; in a terminal of its own, it must show the stand-in's answer. With tome it may take in no state LIMIT seconds
longer than without it.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import context

PROMPT, ANSWER = "tell me of the crossing", "Quagga at the crossing"
PATIENCE = 600
# Copilot CLI waits a minute for a server that does not answer, and has no setting for it.
LIMIT = 120

# Who does what before the first prompt, so that no question of the client's is in the way.

def claude(place, client):
    key = client.env(type("U", (), {"url": ""}), place)["ANTHROPIC_API_KEY"]
    state = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
             "projects": {str(place.cwd): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}
    known = place.home / ".claude.json"
    told = json.loads(known.read_text()) if known.exists() else {}
    known.write_text(json.dumps(dict(told, **state)))
    return []


def codex(place, client):
    with open(place.home / ".codex/config.toml", "a") as config:
        config.write("\n[projects.%s]\ntrust_level = \"trusted\"\n" % json.dumps(str(place.cwd)))
    return ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]


READY = {"claude-code": claude, "codex": codex}
STATES = ["without", "missing", "crash", "printing", "frozen", "old"]
# An old program does not know the words with which it is called.
OLD = "echo \"error: unexpected argument '$2' found\" >&2; echo 'Usage: tome [OPTIONS] [COMMAND]' >&2; exit 2"
BROKEN = {"old": OLD, "crash": "kill -SEGV $$", "printing": "echo '{\"decision\": \"block\"} nonsense'; echo nonsense >&2", "frozen": "sleep 900"}


def arguments(client, recorder):
    """The arguments of a session on a terminal: those of one prompt, without the prompt and what is for it alone."""
    alone = {"-p", "exec", "run", "say ok", "--skip-git-repo-check", "--format", "json", "--dangerously-bypass-hook-trust",
             "--dangerously-bypass-approvals-and-sandbox"}
    return [word for word in client.args(recorder) if word not in alone]


def headless(client, place, env, more, recorder):
    """What one prompt prints, and how it ends."""
    done = subprocess.run([client.path, *client.args(recorder), *more], cwd=place.cwd, env=env, capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return client.printed(done.stdout), done.returncode


def terminal(client, place, env, more, recorder):
    """Whether the answer is shown; the screen at the end if it is not."""
    name = "fail-open-%d" % os.getpid()

    def tmux(*words):
        return subprocess.run(["tmux", "-L", name, *words], capture_output=True, text=True).stdout

    command = [client.path, *arguments(client, recorder), *more]
    words = ["env"] + ["%s=%s" % pair for pair in env.items()] + command
    began = time.monotonic()
    tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(place.cwd), shlex.join(words))
    try:
        screen, quiet, typed = "", time.monotonic(), 0
        while time.monotonic() - began < PATIENCE:
            now = tmux("capture-pane", "-p")
            if now != screen:
                screen, quiet = now, time.monotonic()
            if ANSWER in re.sub(r"\s+", " ", screen):
                return ANSWER
            # What is typed while a client still starts can be lost.
            is_lost = time.monotonic() - typed > 25 and PROMPT not in screen
            if is_lost and screen.strip() and time.monotonic() - quiet > 5:
                tmux("send-keys", "-l", PROMPT)
                time.sleep(1)
                tmux("send-keys", "Enter")
                typed = time.monotonic()
            time.sleep(.3)
        return screen.strip()
    finally:
        tmux("kill-server")


def run(client, state, way):
    """How long it took, and what came of it."""
    context.ROOT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=context.ROOT, ignore_cleanup_errors=True) as folder:
        place = context.Place(folder)
        place.git("init", "-q")
        program = place.home / "bin/tome"
        program.parent.mkdir()
        # Set-up of Claude Code calls its program.
        path = "%s:%s:%s" % (program.parent, pathlib.Path(client.path).parent, os.environ["PATH"])
        (place.home / ".codex").mkdir()
        client.prepare(place)
        if state != "without":
            shutil.copy(context.TOME, program)
            tome, context.TOME, place.variables = context.TOME, program, {"PATH": path}
            place.tome("setup", client.name, "--yes")
            context.TOME = tome
            program.unlink()
            if state in BROKEN:
                program.write_text("#!/bin/sh\n%s\n" % BROKEN[state])
                program.chmod(0o755)
        more = READY.get(client.name, lambda *_: [])(place, client) if way is terminal else []
        recorder = client.recorder(ANSWER)
        recorder.server.handle_error = lambda *_: None
        env = dict({"HOME": str(place.home), "PATH": path, "TZ": "UTC", "LANG": "C.UTF-8"}, **client.env(recorder, place))
        began = time.monotonic()
        try:
            came = way(client, place, env, more, recorder)
        except subprocess.TimeoutExpired:
            came = "nothing in %d seconds" % PATIENCE
        finally:
            recorder.close()
        return time.monotonic() - began, came


def main():
    ways = {"headless": headless, "terminal": terminal}
    wanted = [word for word in sys.argv[2:] if word not in STATES and word not in ways]
    states = [word for word in STATES if word in sys.argv[2:] and word != "without"] or STATES[1:]
    failed = 0
    for kind in context.CLIENTS:
        client = kind()
        if (wanted and client.name not in wanted) or not client.path:
            print("not run: %s" % client.name)
            continue
        for name in [name for name in ways if name in sys.argv[2:]] or ways:
            plain, told = run(client, "without", ways[name])
            is_answered = ANSWER in told if ways[name] is terminal else ANSWER in told[0]
            failed += not is_answered
            print("%s %s, without tome: %.1f s%s" % (client.name, name, plain, "" if is_answered else ", no answer: %r" % (told,)), flush=True)
            for state in states:
                took, came = run(client, state, ways[name])
                is_same = came == told
                failed += not is_same or took - plain > LIMIT
                print("%s %s, tome %s: %s, %.1f s (%+.1f)" % (client.name, name, state, "the same" if is_same else "other: %s" % (came,), took, took - plain), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
