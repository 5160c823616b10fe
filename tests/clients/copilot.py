#!/usr/bin/env python3
"""The real Copilot CLI against tome, offline: its hooks, its MCP calls, its sessions.

Run: python3 tests/clients/copilot.py [TOME]      (TOME: the program; default target/debug/tome)
The client is `copilot` on PATH, or the one that COPILOT names. Without it nothing is tested, and that is said.
Chat Completions are stood in for on 127.0.0.1; nothing leaves the machine.
"""
import sys

import context
import session
import stand_in


class Copilot(session.Client):
    name, program, agent = "Copilot CLI", "copilot", "copilot"
    prefix = "tome-"
    shell = ("bash", {"command": "echo zebra-output", "description": "say zebra"})
    stand_in = stand_in.ChatCompletions

    env = context.Copilot.env

    def args(self, prompt):
        return ["-p", prompt, "--allow-all-tools"]

    def resumes(self):
        return ["--continue"]

    def printed(self, text):
        return text

    def first(self, requests):
        return next((request for request in requests if '"tools"' in request), "")


if __name__ == "__main__":
    sys.exit(session.main(Copilot()))
