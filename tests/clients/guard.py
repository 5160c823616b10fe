#!/usr/bin/env python3
"""The real Claude Code with a guard, offline: it asks, goes on when it is allowed, does not when it is refused, and goes on
when tome is missing; and it reads the line of a memory that is about what it does.

Run: python3 tests/clients/guard.py [TOME]      (TOME: the program; default target/debug/tome)
The client is `claude` on PATH, or the one that CLAUDE names. Without it nothing is tested, and that is said.
The one who is asked is a server of one tool, which this file is when it is started with `answer`.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WORDS = "Never make a folder named forbidden."


def answer(decision, log):
    """An MCP server whose one tool allows or refuses, and keeps what it was asked."""
    for line in sys.stdin:
        request = json.loads(line)
        method, number = request.get("method"), request.get("id")
        if number is None:
            continue
        result = {}
        if method == "initialize":
            result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "person", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": "asked", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            given = request["params"]["arguments"]
            with open(log, "a") as file:
                file.write(json.dumps(given) + "\n")
            said = {"behavior": "allow", "updatedInput": given["input"]} if decision == "allow" else {"behavior": "deny", "message": "no"}
            result = {"content": [{"type": "text", "text": json.dumps(said)}]}
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)


def main():
    from stand_in import StandIn
    here = pathlib.Path(__file__).resolve()
    tome = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here.parent.parent.parent / "target/debug/tome").resolve()
    claude = os.environ.get("CLAUDE") or shutil.which("claude")
    if not claude:
        print("not tested: there is no claude")
        return 0
    failures = []

    def check(held, what):
        print(("held: " if held else "FAILED: ") + what)
        if not held:
            failures.append(what)

    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder).resolve()
        project = home / "project"
        (project / ".git").mkdir(parents=True)
        (project / "AGENTS.md").write_text("# Rules\n\n- %s\n- Commit messages must be in the imperative.\n" % WORDS)
        program = home / "tome"
        shutil.copy(tome, program)
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}

        def run(*args):
            done = subprocess.run([str(program), *args], cwd=project, env=env, capture_output=True, text=True)
            check(done.returncode == 0, "tome " + " ".join(args) + done.stderr[:300])

        run("setup", "claude-code", "--project", "--guards", "--yes")

        def session(command, decision):
            log = home / "asked.jsonl"
            log.unlink(missing_ok=True)
            server = {"command": sys.executable, "args": [str(here), "answer", decision, str(log)]}
            (home / "mcp.json").write_text(json.dumps({"mcpServers": {"person": server}}))
            use = {"type": "tool_use", "name": "Bash", "input": {"command": command, "description": "do it"}}
            stand_in = StandIn([[use], [{"type": "text", "text": "Done."}]])
            more = {"ANTHROPIC_API_KEY": "sk-test-x", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_BASE_URL": stand_in.url}
            words = [claude, "-p", "make it", "--mcp-config", str(home / "mcp.json"), "--strict-mcp-config",
                     "--permission-prompt-tool", "mcp__person__asked", "--allowedTools", "Bash"]
            subprocess.run(words, cwd=project, env=dict(env, **more), capture_output=True, timeout=180, stdin=subprocess.DEVNULL)
            stand_in.close()
            asked = log.read_text().splitlines() if log.exists() else []
            return asked, json.dumps(stand_in.requests)

        made = project / "forbidden"
        run("guard", "AGENTS.md#L3", "--command", "mkdir forbidden")
        # A guard asks once it was tried on the calls of a log.
        session("true", "refuse")
        run("guard", "--backtest")
        asked, _ = session("mkdir other", "refuse")
        check(not asked and (project / "other").is_dir(), "what no guard is about is not asked about")
        asked, sent = session("cd . && mkdir forbidden", "refuse")
        check(len(asked) == 1, "it asks: %s" % asked)
        check(not made.exists(), "it does not go on when it is refused")
        asked, sent = session("cd . && mkdir forbidden", "allow")
        check(len(asked) == 1 and made.is_dir(), "it asks, and goes on when it is allowed")
        made.rmdir()
        program.unlink()
        asked, _ = session("mkdir forbidden", "refuse")
        check(not asked and made.is_dir(), "it goes on when tome is missing")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["answer"]:
        answer(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main())
