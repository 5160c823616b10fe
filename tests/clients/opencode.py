#!/usr/bin/env python3
"""The real OpenCode against tome, offline: its plugin, its MCP calls, its sessions.

Run: python3 tests/clients/opencode.py [TOME]      (TOME: the program; default target/debug/tome)
The client is `opencode` on PATH, or the one that OPENCODE names. Without it nothing is tested, and that is said.
Chat Completions are stood in for on 127.0.0.1; nothing leaves the machine. With a plugin, OpenCode takes about a minute to
start where it cannot reach the network.
"""
import json
import sys

import session
import stand_in


class Opencode(session.Client):
    name, program, agent = "OpenCode", "opencode", "opencode"
    prefix = "tome_"
    shell = ("bash", {"command": "echo zebra-output", "description": "say zebra"})
    stand_in = stand_in.ChatCompletions

    def env(self, stand_in, place):
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "s", "options": {"baseURL": stand_in.url + "/v1", "apiKey": "x"},
                    "models": {"stand-in": {"name": "stand-in"}}}
        config = {"provider": {"s": provider}, "model": "s/stand-in", "permission": "allow"}
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def args(self, prompt):
        return ["run", prompt, "--format", "json"]

    def resumes(self):
        return ["--continue"]

    def printed(self, text):
        """The texts of the answer: the rest has times and identifiers."""
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return "".join(line["part"]["text"] + "\n" for line in lines if line.get("type") == "text")

    def first(self, requests):
        return next((request for request in requests if '"tools"' in request), "")


if __name__ == "__main__":
    sys.exit(session.main(Opencode()))
