#!/usr/bin/env python3
"""The real Gemini CLI against tome, offline: its hooks, its MCP calls, its sessions.

Run: python3 tests/clients/gemini.py [TOME]      (TOME: the program; default target/debug/tome)
The client is `gemini` on PATH, or the one that GEMINI names. Without it nothing is tested, and that is said.
The Gemini API is stood in for on 127.0.0.1; nothing leaves the machine.
"""
import json
import sys

import session
import stand_in


class Gemini(session.Client):
    name, program, agent = "Gemini CLI", "gemini", "gemini"
    prefix = "mcp_tome_"
    shell = ("run_shell_command", {"command": "echo zebra-output", "description": "say zebra"})
    stand_in = stand_in.Gemini

    def prepare(self, place):
        settings = place.home / ".gemini/settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))

    def env(self, stand_in, place):
        return {"GEMINI_API_KEY": "x" * 39, "GOOGLE_GEMINI_BASE_URL": stand_in.url, "GEMINI_TELEMETRY_ENABLED": "false",
                "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def args(self, prompt):
        return ["-p", prompt, "--approval-mode", "yolo", "-m", "gemini-2.5-pro"]

    def resumes(self):
        return ["--resume", "latest"]

    def printed(self, text):
        return text

    def first(self, requests):
        return next((request for request in requests if "functionDeclarations" in request), "")


if __name__ == "__main__":
    sys.exit(session.main(Gemini()))
