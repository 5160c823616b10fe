#!/usr/bin/env python3
"""The real OpenCode against tome, offline: its plugin, its MCP calls, its sessions.

Run: python3 tests/clients/opencode.py [TOME]      (TOME: the program; default target/debug/tome)
The client is `opencode` on PATH, or the one that OPENCODE names. Without it nothing is tested, and that is said.
Chat Completions are stood in for on 127.0.0.1; nothing leaves the machine.
"""
import sys

import context
import session
import stand_in


class Opencode(session.Client):
    name, program, agent = "OpenCode", "opencode", "opencode"
    prefix = "tome_"
    shell = ("bash", {"command": "echo zebra-output", "description": "say zebra"})
    stand_in = stand_in.ChatCompletions

    prepare, env, printed = context.Opencode.prepare, context.Opencode.env, context.Opencode.printed

    def args(self, prompt):
        return ["run", prompt, "--format", "json"]

    def resumes(self):
        return ["--continue"]

    def first(self, requests):
        return next((request for request in requests if '"tools"' in request), "")


if __name__ == "__main__":
    sys.exit(session.main(Opencode()))
