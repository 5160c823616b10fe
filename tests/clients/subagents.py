#!/usr/bin/env python3
"""Five real clients that start a subagent, offline: whose words its task is, at every door of tome.

Run: python3 tests/clients/subagents.py [TOME] [CLIENT…]      (TOME: the program; default target/debug/tome)
The clients are found as by context.py. One that is not there is not tested, and that is said.

The person asks; the client's model starts a subagent, which writes a memory and answers; then the model answers.
"""
import json
import pathlib
import re
import sys
import tempfile

import codex
import context
import copilot
import gemini
import opencode
import session
import stand_in
from session import PROMPT, check, failures

TASK = "Ask the keeper where the quagga sleeps"
REPORT = "It sleeps in the barn."
ANSWER = "Found it."


def split(kind):
    """A stand-in of this kind that answers the requests of a subagent, which do not have the person's words, from turns of its own."""
    class Split(kind):
        def __init__(self, turns, task):
            super().__init__(list(turns))
            self.task = list(task)

        def turns_of(self, request):
            return self.turns if PROMPT in json.dumps(request) else self.task
    return Split


def messages(turns, task):
    """The Messages API."""
    def blocks(turn):
        if "text" in turn:
            return [{"type": "text", "text": turn["text"]}]
        return [{"type": "tool_use", "name": turn["call"][0], "input": turn["call"][1]}]
    return split(stand_in.StandIn)(map(blocks, turns), map(blocks, task))


class Responses:
    """The Responses API. The name of a tool may have its namespace before it; `AGENT` in its arguments is the subagent's id."""

    def __init__(self, turns, task):
        self.turns, self.task = list(turns), list(task)
        self.server = codex.StandIn(self.answer)
        self.url = "http://127.0.0.1:%d" % self.server.port

    @property
    def requests(self):
        return [json.loads(request) for request in self.server.requests]

    def answer(self, request):
        turns = self.turns if PROMPT in request else self.task
        turn = turns.pop(0) if turns else {"text": "ok"}
        if "text" in turn:
            return [codex.message(turn["text"])]
        name, given = turn["call"]
        agent = re.search(r'agent_id\\*": *\\*"([^"\\]+)', request)
        given = json.loads(json.dumps(given).replace("AGENT", agent[1] if agent else ""))
        space, _, tool = name.rpartition("/")
        return [codex.call(len(self.server.requests), tool, namespace=space or None, **given)]

    def close(self):
        self.server.server.shutdown()
        self.server.server.server_close()


class Claude(session.Client):
    name, program, agent = "Claude Code", "claude", "claude-code"
    prefix = "mcp__tome__"
    starts = [("Agent", {"description": "ask the keeper", "prompt": TASK, "subagent_type": "general-purpose", "run_in_background": False})]
    stand_in = staticmethod(messages)
    env = context.ClaudeCode.env

    def args(self, prompt):
        return ["-p", prompt, "--allowedTools", "mcp__tome__*", "Agent"]

    def printed(self, text):
        return text


class Codex(session.Client):
    name, program, agent = "Codex", "codex", "codex"
    prefix = "mcp__tome/"
    starts = [("multi_agent_v1/spawn_agent", {"message": TASK}), ("multi_agent_v1/wait_agent", {"targets": ["AGENT"]})]
    stand_in = Responses

    def env(self, responses, place):
        (place.home / ".codex").mkdir(exist_ok=True)
        self.url = responses.url
        return context.Codex.env(self)

    def args(self, prompt):
        return context.Codex.args(self, self)[:-1] + [prompt]

    def printed(self, text):
        return text


class Gemini(gemini.Gemini):
    starts = [("invoke_agent", {"agent_name": "generalist", "prompt": TASK})]
    ends = ("complete_task", {"response": REPORT})
    stand_in = split(stand_in.Gemini)


class Opencode(opencode.Opencode):
    starts = [("task", {"description": "ask the keeper", "prompt": TASK, "subagent_type": "general"})]
    stand_in = split(stand_in.ChatCompletions)


class Copilot(copilot.Copilot):
    starts = [("task", {"description": "ask the keeper", "prompt": TASK, "agent_type": "general-purpose", "name": "keeper"})]
    stand_in = split(stand_in.ChatCompletions)


def run(place):
    """Runs the session."""
    client = place.client
    write = {"filename": "barn.md", "name": "Barn", "description": "where the quagga sleeps", "memory_type": "project",
             "content": "The quagga sleeps in the barn.", "store": ".memory"}
    end = getattr(client, "ends", None)
    task = [{"call": (client.prefix + "memory_write", write)}, {"call": end} if end else {"text": REPORT}]
    kind = client.stand_in
    client.stand_in = lambda turns: kind(turns, task)
    said, _ = place.run([*({"call": start} for start in client.starts), {"text": ANSWER}])
    check(ANSWER in said, "the answer is printed: %r" % said)
    check((place.project / ".memory/barn.md").exists(), "the subagent writes the memory")


def doors(place):
    """What each door says of the session and of its subagent."""
    client = place.client

    def rows(of, *args):
        return json.loads(place.tome(*args, "--json"))[of]

    logs = [log for log in rows("logs", "logs", "--every") if not log.get("captured")]
    own = [log for log in logs if not log["parent"]]
    check(len(own) == 1 and len(logs) <= 2, "a session, and a log of its subagent if it has one: %s" % logs)
    session_id = own[0]["id"]
    check([log["id"] for log in rows("logs", "logs")] == [session_id], "logs lists the session alone")
    check(PROMPT in own[0]["first_prompt"] and own[0]["turns"] == 1, "its words are the person's: %s" % own)
    for log in logs:
        if log["parent"]:
            check(log["parent"] == session_id, "the subagent is below its session: %s" % log)
            check(log["turns"] == 0 and log["first_prompt"] == TASK, "its task is what it is called, and no turn: %s" % log)
    said = [(message["role"], message["text"].strip('"')) for log in logs for message in rows("messages", "log", log["id"])
            if message["kind"] == "text" and message["origin"] != "injected"]
    check([text for role, text in said if role == "user"] == [PROMPT], "log: the person said one thing: %s" % said)
    check(("assistant", TASK) in said, "log: the task is an agent's: %s" % said)
    shown = place.tome("log", session_id)
    check(re.search(r"agent  \S+ \S+\n%s" % TASK, "\n".join(place.tome("log", log["id"]) for log in logs)), "log: it is marked so")
    if len(logs) == 2:
        check("(log %s)" % next(log["id"] for log in logs if log["parent"]) in shown, "log: the call leads to it: " + shown)
    events = place.events()
    check([event["text"].strip('"') for event in events if event["role"] == "user"] == [PROMPT], "events: the person said one thing: %s" % events)
    check([event["text"] for event in events if event["event_type"] == "assistant_stop"] == [ANSWER], "events: the turn ends with the answer: %s" % events)
    ids = {event["session_id"] for event in events}
    check(len(ids) == 1, "events are of one session: %s" % ids)
    # Its own id opens it where the log has another name.
    for one in [session_id, *ids]:
        check(PROMPT in place.tome("log", one), "%s opens at log" % one)
        place.tome("toc", "--log", one)
        place.tome("resume", one)
    for door in ("recall", "find"):
        everything = place.tome(door, "quagga sleeps", "--json")
        check(TASK in everything, "%s finds the task" % door)
    mine = place.tome("recall", "role:user zebra", "--json", "--scope", "messages")
    check(PROMPT in mine and TASK not in mine, "recall: the task is not the person's: " + mine)
    check("quagga" not in place.tome("toc", "--level", "segment").replace("barn.md", ""), "toc: nobody asked for it but the agent")
    calls = rows("calls", "why", "barn.md")
    check(calls and calls[0]["agent"] == client.agent, "why names the call: %s" % calls)
    words = (calls[0]["words"] or {}) if calls else {}
    check(words.get("text", "").strip('"') == PROMPT, "why names the person's words: %s" % calls)
    check(words.get("citation", "").startswith("%s:%s#L" % (client.agent, session_id)), "in the session: %s" % calls)
    waiting = [item for item in place.review() if item["path"] == "barn.md"]
    author = waiting[0]["author"] if waiting else {}
    check(author.get("agent") == client.agent and calls and author.get("citation") == calls[0]["citation"], "review names the same call: %s" % waiting)


class Place(session.Place):
    def __init__(self, folder, client):
        super().__init__(folder, client)
        # Set-up of Claude Code calls its program.
        self.env["PATH"] = "%s:%s" % (pathlib.Path(client.path).parent, self.env["PATH"])

    def review(self):
        return json.loads(self.run_tome("review", "--json").stdout)["items"]


def main():
    wanted = sys.argv[2:]
    for kind in [Claude, Codex, Gemini, Opencode, Copilot]:
        client = kind()
        if wanted and client.agent not in wanted:
            continue
        if not client.path:
            print("not run: %s is not installed (put `%s` on PATH, or set %s)" % (client.name, client.program, client.program.upper()))
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            before = len(failures)
            place = Place(folder, client)
            place.tome("setup", client.agent, "--yes")
            place.tome("list")
            run(place)
            doors(place)
            print("%s ... %s" % (client.name, "ok" if len(failures) == before else "FAILED"), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
