#!/usr/bin/env python3
"""The official checks of the Model Context Protocol against `tome mcp`: the conformance suite and the inspector.

Run: python3 tests/clients/conformance.py [TOME]      (TOME: the program; default target/debug/tome)
The programs are `conformance` (npm @modelcontextprotocol/conformance) and `mcp-inspector` (@modelcontextprotocol/inspector) on
PATH, or the ones that CONFORMANCE and INSPECTOR name; NODE names the Node.js that runs them, which has to be 22 or newer for
the suite. What is not there is not run, and that is said.

The suite speaks HTTP, so a bridge on 127.0.0.1 passes its messages on to a server of its own for each session. Of its
scenarios, those run that are about every server. The others call tools, prompts and resources of a server that is made for the
suite, or are about HTTP itself; they are listed by name. For the resource of that server, `test://watched-resource`, the bridge
puts a memory.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).resolve().parent
TOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/debug/tome").resolve()
NODE = os.environ.get("NODE") or shutil.which("node")

#: Scenarios about every server.
SCENARIOS = ["server-initialize", "logging-set-level", "ping", "tools-list", "resources-list", "resources-subscribe",
             "resources-unsubscribe", "prompts-list"]

#: The resource of the memory.
MEMORY = "tome://.memory/zebra.md"

failures = []


def check(held, what):
    if not held:
        failures.append(what)
        print("FAILED: " + what[:3000], file=sys.stderr)


class Server:
    """A `tome mcp` of its own, and the answers that are waited for."""

    def __init__(self, project, env):
        self.process = subprocess.Popen([str(TOME), "mcp"], cwd=project, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.waiting, self.lock = {}, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.lock:
                waiting = self.waiting.pop(json.dumps(message.get("id")), None) if "method" not in message else None
            if waiting:
                waiting.append(message)
                waiting[0].set()

    def ask(self, message):
        """Sends a message; returns its answer, if it is a request."""
        answer = [threading.Event()]
        if "id" in message:
            with self.lock:
                self.waiting[json.dumps(message["id"])] = answer
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        if "id" not in message:
            return None
        answer[0].wait(30)
        return answer[1] if len(answer) > 1 else None

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Bridge:
    """Streamable HTTP for a server that speaks through its standard streams."""

    def __init__(self, project, env):
        self.servers = {}
        bridge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply(405)

            def do_DELETE(self):
                self.reply(200)

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                if message.get("params", {}).get("uri") == "test://watched-resource":
                    message["params"]["uri"] = MEMORY
                session = self.headers.get("mcp-session-id")
                if message.get("method") == "initialize":
                    session = str(uuid.uuid4())
                    bridge.servers[session] = Server(project, env)
                if session not in bridge.servers:
                    return self.reply(404)
                answer = bridge.servers[session].ask(message)
                self.reply(202 if answer is None else 200, answer, session)

            def reply(self, status, answer=None, session=None):
                body = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                if session:
                    self.send_header("mcp-session-id", session)
                self.end_headers()
                self.wfile.write(body)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/mcp" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        for server in self.servers.values():
            server.close()


def place(folder):
    """A project with a memory; returns it and the environment."""
    home = pathlib.Path(folder).resolve()
    project = home / "project"
    (project / ".memory").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".memory/MEMORY.md").write_text("# Memory\n\n- [Zebra](zebra.md) — the zebra has stripes\n")
    (project / ".memory/zebra.md").write_text("---\nname: Zebra\ndescription: the zebra has stripes\ntype: project\n---\n\nEnclosure 7.\n")
    return project, {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}


def program(name, *args):
    return [NODE, str(pathlib.Path(name).resolve()), *args] if NODE else [name, *args]


def conformance(path, folder):
    project, env = place(folder)
    listed = subprocess.run(program(path, "list", "--server"), env=env, capture_output=True, text=True, timeout=120)
    if listed.returncode:
        print("not run: the conformance suite does not start: " + listed.stderr.strip().splitlines()[-1])
        return
    known = [line.split()[1] for line in listed.stdout.splitlines() if line.strip().startswith("- ")]
    bridge = Bridge(project, env)
    try:
        for scenario in SCENARIOS:
            done = subprocess.run(program(path, "server", "--url", bridge.url, "--scenario", scenario), env=env, cwd=folder,
                                  capture_output=True, text=True, timeout=120)
            check(done.returncode == 0, "%s: %s %s" % (scenario, done.stdout[-2500:], done.stderr[-500:]))
            print("conformance: %s ... %s" % (scenario, "ok" if done.returncode == 0 else "FAILED"))
    finally:
        bridge.close()
    check(set(SCENARIOS) <= set(known), "the suite knows the scenarios: %s" % known)
    print("conformance: not for tome: " + ", ".join(name for name in known if name not in SCENARIOS and "/" not in name))


def inspector(path, folder):
    project, env = place(folder)

    def ask(method, *more):
        done = subprocess.run(program(path, "--cli", str(TOME), "mcp", "--method", method, *more), env=env, cwd=project,
                              capture_output=True, text=True, timeout=120)
        check(done.returncode == 0, "inspector %s: %s %s" % (method, done.stdout[-1500:], done.stderr[-1500:]))
        print("inspector: %s ... %s" % (method, "ok" if done.returncode == 0 else "FAILED"))
        return done.stdout

    tools = ask("tools/list")
    for tool in ["recall_memory", "memory_view", "memory_list", "memory_read", "memory_write", "memory_update", "memory_patch",
                 "memory_append", "memory_delete", "coder_memory_recall", "coder_memory_store", "get_events"]:
        check('"name": "%s"' % tool in tools, "%s is listed" % tool)
    found = ask("tools/call", "--tool-name", "recall_memory", "--tool-arg", "query=zebra")
    check("zebra.md#L" in found, "recall_memory answers: " + found)
    wrote = ask("tools/call", "--tool-name", "memory_write", "--tool-arg", "filename=feeding.md", "--tool-arg", "name=Feeding",
                "--tool-arg", "description=when", "--tool-arg", "memory_type=project", "--tool-arg", "content=At noon.")
    check("Memory saved: feeding.md" in wrote and (project / ".memory/feeding.md").exists(), "memory_write writes: " + wrote)
    resources = json.loads(ask("resources/list"))["resources"]
    uri = next((resource["uri"] for resource in resources if "zebra" in resource["uri"]), "")
    check(uri, "the memory is a resource: %s" % resources)
    check("Enclosure 7." in ask("resources/read", "--uri", uri), "the resource is read")
    ask("resources/templates/list")
    check('"prompts"' in ask("prompts/list"), "prompts are listed")


def main():
    for name, variable, package, run in [
        ("conformance", "CONFORMANCE", "@modelcontextprotocol/conformance", conformance),
        ("mcp-inspector", "INSPECTOR", "@modelcontextprotocol/inspector", inspector),
    ]:
        path = os.environ.get(variable) or shutil.which(name)
        if not path:
            print("not run: %s is not installed (put `%s` on PATH, or set %s)" % (package, name, variable))
            continue
        with tempfile.TemporaryDirectory() as folder:
            run(path, folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
