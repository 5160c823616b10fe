#!/usr/bin/env python3
"""Layouts of instruction files made at random: what a real client sends for each, against `tome context --agent`.

Run: python3 tests/clients/layouts.py TOME CLIENT [FIRST [COUNT]] [--sent FOLDER]
(FIRST: the first seed, default 0; COUNT: default 300; FOLDER: keeps what was sent, and what is there is judged without the client)
The clients are found as by context.py. A seed always gives the same layout. A difference is told with its seed;
`python3 tests/clients/layouts.py TOME CLIENT SEED 1 --keep` leaves that layout in its folder, with what was sent beside it.

A file that leads out of its project is told by tome and not shown, so its text is not compared, and all around it is; such
layouts are counted.

OpenCode loads what `**/` finds in the order in which its folders happen to be read, another at each run: such a layout can be told
as different, and equal the next time.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KEEP = "--keep" in sys.argv
SENT = pathlib.Path(sys.argv[sys.argv.index("--sent") + 1]) if "--sent" in sys.argv else None
sys.argv = [word for at, word in enumerate(sys.argv) if word not in ("--keep", "--sent") and sys.argv[at - 1] != "--sent"]
import context  # noqa: E402  (reads the program's name from the same arguments)

FOLDERS = ["project", "project/a", "project/a/b"]
PATIENCE = 150


class Layout:
    """Everything that one seed decides."""

    def __init__(self, client, seed, home):
        self.random = random.Random("%s %d" % (client.name, seed))
        self.client, self.home = client, pathlib.Path(home).resolve()
        self.files, self.variables = {}, {}
        self.docs = ["project/docs/one.md", "project/docs/deep/two.md", "project/a/three.md", "project/docs/no ending"]
        self.other = ["outside.md", "project/docs/missing.md", "project/docs"]
        self.cwd = self.random.choices(FOLDERS, [5, 3, 3])[0]
        self.git = self.random.choices(["root", "none", "inner", "worktree"], [12, 2, 2, 1])[0]
        getattr(self, client.name.replace("-", "_"))()
        for doc in self.docs:
            if self.maybe(.9):
                self.files[doc] = self.text(doc, imports=.3)
        if self.maybe(.5):
            self.files["outside.md"] = self.text("outside.md", imports=0)
        if self.maybe(.12):
            self.link()

    def maybe(self, chance):
        return self.random.random() < chance

    def put(self, path, chance, **how):
        if self.maybe(chance):
            self.files[path] = self.text(path, **how)

    def mention(self, holder):
        """An import as somebody would write it in a file."""
        target = self.random.choices(self.docs + self.other, [4] * len(self.docs) + [1] * len(self.other))[0]
        folder = os.path.dirname(holder) or "."
        name = os.path.relpath(target, folder)
        form = self.random.random()
        if form < .15:
            name = "./" + name
        elif form < .25:
            name = "~/" + target
        elif form < .3:
            name = str(self.home / target)
        return "@" + (name.replace(" ", "\\ ") if self.maybe(.7) else name)

    def line(self, holder, imports):
        pick = self.random
        if self.maybe(imports):
            at = self.mention(holder)
            return pick.choice([at, "See %s." % at, "- %s" % at, "Read %s first" % at, "`%s`" % at, "```\n%s\n```" % at, "(%s)" % at,
                                "x%s" % at, "> %s" % at, "| %s |" % at, "%s, %s" % (at, self.mention(holder)), "<!-- %s -->" % at,
                                "**%s**" % at, "    %s" % at, "%s#part" % at, "\t%s" % at])
        return pick.choice(["Be brief.", "# Title", "- an item", "", "", "Ünï – 🦓", "trailing  ", "<!-- hidden -->", "x <!-- in a line --> y",
                            "<!--\nof two lines\n-->", "mail kim@example.com", "```\ncode\n```", "a `span` b", "1. one", "---", "\ttab",
                            "<b>html</b>", "* * *", "a | b", "Of %s" % holder, "[link](docs/one.md)"])

    def header(self):
        value = self.random.choice(["src/**", "\"**\"", "'**/*'", "[\"src/**\", \"*.rs\"]", "\n  - src/**\n  - \"*.md\"", "null", "", "true", "\"**/*.ts,**/*.js\"", "*"])
        key = self.random.choice(["paths", "applyTo", "globs", "name", "description", "title"])
        more = self.random.choice(["", "", "name: x\n", "# a comment\n", "excludeAgent: \"coding-agent\"\n", "excludeAgent: code-review\n"])
        ends = self.random.choice(["---\n"] * 5 + ["---\n\n", "--- \n", "...\n", ""])
        return "---\n%s%s: %s\n%s" % (more, key, value, ends)

    def text(self, holder, imports=.3, header=.12):
        kind = self.random.random()
        if kind < .02:
            return b""
        if kind < .04:
            return b" \n\t\n"
        lines = [self.line(holder, imports) for _ in range(self.random.randint(1, 7))] + ["The end of %s." % holder]
        self.random.shuffle(lines)
        text = (self.header() if self.maybe(header) else "") + "\n".join(lines) + self.random.choice(["\n"] * 5 + ["", "\n\n", "  \n"])
        if self.maybe(.05):
            text = "\n\n" + text
        if self.maybe(.08):
            text = text.replace("\n", "\r\n")
        elif self.maybe(.02):
            text = text.replace("\n", "\r")
        raw = text.encode()
        if self.maybe(.05):
            raw = b"\xef\xbb\xbf" + raw
        if self.maybe(.02):
            raw += b"\xff\xfe bad\n"
        return raw

    def link(self):
        """One of the files becomes a link to another."""
        holder = self.random.choice(sorted(self.files))
        target = self.random.choice(self.docs + ["outside.md", "project/nowhere.md"])
        # These do not start with settings that are none.
        is_needed = self.client.name in ("codex", "gemini") and holder.endswith((".toml", ".json"))
        if holder != target and holder not in self.docs and not is_needed:
            self.files[holder] = pathlib.PurePath(os.path.relpath(target, os.path.dirname(holder) or "."))

    def settings(self, value, comments=False):
        text = json.dumps(value, indent=2)
        if comments:
            form = self.random.random()
            if form < .3:
                text = "// mine\n" + text
            elif form < .45:
                text = text.replace("{", "{ /* here */", 1)
        return text

    # What each client looks for.

    def claude_code(self):
        for folder in [""] + FOLDERS + ["project/a/b/c"]:
            at = folder + "/" if folder else ""
            self.put(at + "CLAUDE.md", .15 if not folder else .6)
            if folder:
                self.put(at + ".claude/CLAUDE.md", .15)
            self.put(at + "CLAUDE.local.md", .15)
            if self.maybe(.3):
                self.put(at + ".claude/rules/r.md", .8, header=.5)
                self.put(at + ".claude/rules/sub/s.md", .3, header=.5)
                self.put(at + ".claude/rules/t.txt", .2)
        self.put(".claude/CLAUDE.md", .5)
        self.put("project/claude.md", .05)
        excludes = ["**/a/CLAUDE.md", "**/CLAUDE.local.md", str(self.home / "project/CLAUDE.md"), "**/rules/**", "*.md", "{**/a,**/b}/CLAUDE.md", "**/docs/**"]
        for file, chance in ((".claude/settings.json", .25), ("project/.claude/settings.json", .15), ("project/.claude/settings.local.json", .1), ("project/a/.claude/settings.json", .1)):
            if self.maybe(chance):
                given = {}
                if self.maybe(.7):
                    given["claudeMdExcludes"] = self.random.sample(excludes, self.random.randint(1, 2))
                if self.maybe(.3):
                    given["autoMemoryEnabled"] = self.maybe(.5)
                self.files[file] = self.settings(given)
        if self.maybe(.15):
            self.files[".claude.json"] = json.dumps({"projects": {str(self.home / folder): {"hasClaudeMdExternalIncludesApproved": True} for folder in FOLDERS[:2]}})
        if self.maybe(.25):
            root = self.cwd if self.git == "none" else "project/a" if self.git == "inner" and self.cwd != "project" else "project"
            slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.home / root))
            length = self.random.choice([3, 3, 60, 230])
            self.files[".claude/projects/%s/memory/MEMORY.md" % slug] = b"".join(self.text("index", imports=.1) for _ in range(length // 3))
        if self.maybe(.08):
            self.variables["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = self.random.choice(["1", "0", "true", "false"])
        if self.maybe(.08):
            self.variables["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] = self.random.choice(["1", "0", "true"])
        if self.maybe(.08):
            self.variables["CLAUDE_CONFIG_DIR"] = str(self.home / "elsewhere")
            self.put("elsewhere/CLAUDE.md", .8)
            self.put("elsewhere/rules/r.md", .5, header=.5)

    def codex(self):
        home = ".codex"
        if self.maybe(.1):
            self.variables["CODEX_HOME"] = str(self.home / "elsewhere")
            home = "elsewhere"
            self.files["elsewhere/config.toml"] = "# mine\n"
        self.put(home + "/AGENTS.md", .5)
        self.put(home + "/AGENTS.override.md", .15)
        for folder in [""] + FOLDERS:
            at = folder + "/" if folder else ""
            self.put(at + "AGENTS.md", .2 if not folder else .6)
            self.put(at + "AGENTS.override.md", .12)
            self.put(at + "NOTES.md", .2)
            self.put(at + "agents.md", .05)
        lines = ["# mine"]
        if self.maybe(.2):
            lines.append("project_doc_max_bytes = %d" % self.random.choice([0, 10, 80, 300, 100000]))
        if self.maybe(.3):
            lines.append("project_doc_fallback_filenames = %s" % json.dumps(self.random.choice([["NOTES.md"], ["agents.md", "NOTES.md"], [], ["docs/one.md"]])))
        if self.maybe(.15):
            lines.append("project_root_markers = %s" % json.dumps(self.random.choice([[], [".git"], ["MARK"], ["docs"]])))
        has_memory = self.maybe(.2)
        if has_memory:
            lines.append("[features]\nmemories = %s" % self.random.choice(["true", "true", "false"]))
            first = self.random.choice(["v1\n", "v1\n", "v2\n", "\nv1\n", ""])
            length = self.random.choice([1, 5, 200])
            self.files[home + "/memories/memory_summary.md"] = (first + "A remembered line – long enough to count.\n" * length).encode()
        if self.maybe(.2):
            self.files["project/.codex/config.toml"] = "project_doc_fallback_filenames = [\"NOTES.md\"]\n"
            if self.maybe(.6):
                lines.append("[projects.\"%s\"]\ntrust_level = \"%s\"" % (self.home / self.random.choice(FOLDERS[:2]), self.random.choice(["trusted", "trusted", "untrusted"])))
        self.files[home + "/config.toml"] = "\n".join(lines) + "\n"
        self.put("project/MARK", .3)

    def gemini(self):
        names = ["GEMINI.md"]
        self.put(".gemini/GEMINI.md", .5)
        self.put(".gemini/NOTES.md", .1)
        for folder in [""] + FOLDERS + ["project/a/b/c", "project/x"]:
            at = folder + "/" if folder else ""
            self.put(at + "GEMINI.md", .2 if not folder else .6)
            self.put(at + "NOTES.md", .2)
            self.put(at + "gemini.md", .04)
        for file, chance in ((".gemini/settings.json", .5), (self.cwd + "/.gemini/settings.json", .25)):
            if self.maybe(chance):
                given = {}
                if self.maybe(.5):
                    given["fileName"] = self.random.choice(["NOTES.md", ["NOTES.md"], ["NOTES.md", "GEMINI.md"], ["GEMINI.md", "docs/one.md"], "$NOTES", []])
                if self.maybe(.3):
                    given["includeDirectories"] = self.random.choice([["../x"], [str(self.home / "project/x")], ["docs"], ["~/further"]])
                    given["loadMemoryFromIncludeDirectories"] = self.maybe(.7)
                if self.maybe(.25):
                    given["memoryBoundaryMarkers"] = self.random.choice([[], ["MARK"], [".git", "MARK"], ["docs"]])
                if self.maybe(.15):
                    given["importFormat"] = self.random.choice(["tree", "flat"])
                self.files[file] = self.settings({"context": given} if self.maybe(.9) else {}, comments=True)
        self.put("project/MARK", .2)
        self.put("project/a/MARK", .1)
        self.put("further/GEMINI.md", .3)
        if self.maybe(.2):
            manifest = {"name": "x", "version": "1.0.0"}
            if self.maybe(.4):
                manifest["contextFileName"] = self.random.choice(["EXTRA.md", ["GEMINI.md", "EXTRA.md"], []])
            self.files[".gemini/extensions/x/gemini-extension.json"] = json.dumps(manifest)
            self.put(".gemini/extensions/x/GEMINI.md", .9, imports=0)
            self.put(".gemini/extensions/x/EXTRA.md", .7, imports=0)
        if self.maybe(.15):
            self.files[".gemini/projects.json"] = json.dumps({"projects": {str(self.home / self.cwd): "project"}})
            self.files[".gemini/tmp/project/.project_root"] = str(self.home / self.cwd)
            self.files[".gemini/tmp/project/memory/%s" % self.random.choice(["MEMORY.md", "GEMINI.md"])] = self.text("index", imports=.1)
        self.variables["NOTES"] = "NOTES.md"
        return names

    def opencode(self):
        own = ".config/opencode"
        self.put(own + "/AGENTS.md", .4, imports=.1)
        self.put(".claude/CLAUDE.md", .3, imports=.1)
        for folder in [""] + FOLDERS:
            at = folder + "/" if folder else ""
            for name, chance in (("AGENTS.md", .45), ("CLAUDE.md", .25), ("CONTEXT.md", .15), ("agents.md", .04)):
                self.put(at + name, chance / 3 if not folder else chance, imports=.1)
        for doc in ["project/docs/b.md", "project/docs/a.md", "project/docs/deep/c.md", "project/a/docs/d.md", "further/x.md", "further/deep/y.md", "project/docs/e.txt"]:
            self.put(doc, .6, imports=0)
        patterns = ["docs/*.md", "docs/**/*.md", "**/*.md", "docs/one.md", "./docs/a.md", "~/further/*.md", str(self.home / "further/*.md"), "docs/{a,b}.md", "docs/?.md",
                    "nowhere/*.md", "docs/[ab].md", "docs", "../docs/*.md", "*.md", "docs/**", "~/further/**/*.md"]
        own_patterns = [pattern for pattern in patterns if "**" in pattern or "further" in pattern] + ["docs/one.md", "NOTES.md"]
        files = [(own + "/opencode.json", .3, own_patterns), (own + "/opencode.jsonc", .15, own_patterns), (own + "/config.json", .08, own_patterns),
                 ("project/opencode.json", .35, patterns), ("project/opencode.jsonc", .1, patterns), ("project/a/opencode.json", .15, patterns),
                 ("project/.opencode/opencode.json", .12, patterns)]
        if self.maybe(.12):
            self.variables["OPENCODE_CONFIG"] = str(self.home / "mine.json")
            files.append(("mine.json", 1, own_patterns))
        if self.maybe(.12):
            self.variables["OPENCODE_CONFIG_DIR"] = str(self.home / "mine")
            files.append(("mine/opencode.json", .7, own_patterns))
            self.put("mine/AGENTS.md", .6, imports=0)
        for file, chance, of in files:
            if self.maybe(chance):
                chosen = self.random.sample(of, self.random.randint(1, 2))
                # Without git it looks through the whole disk for such a file, and says nothing for minutes.
                chosen = [pattern for pattern in chosen if self.git != "none" or pattern != "**/*.md"]
                self.files[file] = self.settings({"instructions": chosen}, comments=True)
        for name in ("OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT", "OPENCODE_DISABLE_PROJECT_CONFIG"):
            if self.maybe(.06):
                self.variables[name] = self.random.choice(["1", "true", "0"])

    def copilot(self):
        self.put(".copilot/copilot-instructions.md", .5)
        for folder in FOLDERS:
            at = folder + "/"
            for name, chance in (("AGENTS.md", .4), ("CLAUDE.md", .25), ("GEMINI.md", .2), (".github/copilot-instructions.md", .3), ("agents.MD", .04),
                                 (".claude/CLAUDE.md", .08), (".github/Copilot-Instructions.md", .03)):
                self.put(at + name, chance)
            for name, chance in ((".github/instructions/i.instructions.md", .25), (".github/instructions/sub/j.instructions.md", .15), (".github/instructions/k.md", .08),
                                 (".claude/rules/r.md", .15), (".claude/rules/sub/s.md", .08)):
                self.put(at + name, chance, header=.7, imports=.1)
        self.put(".copilot/instructions/u.instructions.md", .25, header=.5, imports=.1)
        if self.maybe(.12):
            self.variables["COPILOT_CUSTOM_INSTRUCTIONS_DIRS"] = self.random.choice([str(self.home / "further"), "%s,%s" % (self.home / "further", self.home / "project/docs")])
            self.put("further/.github/instructions/f.instructions.md", .8, header=.5, imports=0)
            self.put("further/AGENTS.md", .6, imports=0)
            self.put("further/.github/copilot-instructions.md", .4, imports=0)
        if self.maybe(.08):
            self.variables["COPILOT_HOME"] = str(self.home / "elsewhere")
            self.put("elsewhere/copilot-instructions.md", .8)
            self.put("elsewhere/instructions/e.instructions.md", .5, header=.4)

    def write(self, place):
        (self.home / "project/a/b").mkdir(parents=True, exist_ok=True)
        if self.git != "none":
            place.git("init", "-q")
        if self.git == "inner":
            place.git("init", "-q", cwd=self.home / "project/a")
        place.write(self.files)
        if self.git == "worktree":
            place.git("add", "-A")
            place.git("commit", "-q", "--allow-empty", "-m", "first")
            place.git("worktree", "add", "-q", "../linked")
            self.cwd = self.cwd.replace("project", "linked", 1)
            (self.home / self.cwd).mkdir(parents=True, exist_ok=True)
        place.cwd = self.home / self.cwd
        if self.client.name == "gemini":
            # It does not start if a directory that the settings include is missing.
            for folder in (place.cwd / "docs", place.cwd.parent / "x", self.home / "project/x", self.home / "further"):
                folder.mkdir(parents=True, exist_ok=True)
        place.variables = self.variables


class Unsent(Exception):
    """The client ended, or waited too long, without a request that has a context."""


def sent(client, place):
    """The part of the client's first request that has the context; the client is ended then."""
    recorder = client.recorder()
    # A client that is ended breaks its connections, which is nothing to tell.
    recorder.server.handle_error = lambda *_: None
    env = dict({"HOME": str(place.home), "PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C.UTF-8"}, **client.env(recorder, place), **place.variables)
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([client.path, *client.args(recorder)], cwd=place.cwd, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                   start_new_session=True)
        try:
            until, known = time.monotonic() + PATIENCE, 0
            while time.monotonic() < until:
                is_over = process.poll() is not None
                if len(recorder.requests) > known:
                    known = len(recorder.requests)
                    try:
                        return client.region(list(recorder.requests))
                    except StopIteration:
                        pass
                if is_over:
                    break
                time.sleep(.03)
            said.seek(0)
            raise Unsent(said.read()[-1500:])
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            recorder.close()


def one(client, seed):
    # Gemini CLI takes no settings from a folder that others may write to, such as /tmp.
    folder = context.ROOT / ("%s-%d" % (client.name, seed))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        place = context.Place(folder)
        layout = Layout(client, seed, folder)
        layout.write(place)
        pieces = place.pieces(client)
        known = SENT / folder.name if SENT else None
        if known and known.exists():
            region = known.read_bytes().decode()
        else:
            region = sent(client, place)
        if known:
            SENT.mkdir(parents=True, exist_ok=True)
            known.write_bytes(region.encode())
        wrong = context.compare(client, pieces, region, place)
        if KEEP:
            print("kept in %s, started in %s with %s" % (folder, place.cwd, layout.variables))
            pathlib.Path(folder, "sent").write_bytes(region.encode())
            pathlib.Path(folder, "pieces").write_text(json.dumps(pieces, indent=1, ensure_ascii=False))
        return wrong, any(map(context.is_told, pieces)), len(pieces)
    finally:
        if not KEEP:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    client = next(kind for kind in context.CLIENTS if kind.name == sys.argv[2])()
    first, count = (int(number) for number in (sys.argv[3:5] + ["0", "300"][len(sys.argv) - 3:])[:2])
    if not client.path:
        print("not run: %s is not installed (put `%s` on PATH, or set %s)" % (client.name, client.program, client.program.upper()))
        return 0
    equal = told = unsent = 0
    for seed in range(first, first + count):
        try:
            wrong, is_told, pieces = one(client, seed)
        except Unsent as why:
            unsent += 1
            print("%s %d: nothing was sent: %s" % (client.name, seed, why), flush=True)
            continue
        equal += not wrong
        told += not wrong and is_told
        print("%s %d: %s%s" % (client.name, seed, wrong or "equal, %d pieces" % pieces, ", told without its text" * is_told), flush=True)
    print("%s: %d of %d equal, %d of them with files that are told without their text; %d without a request" % (client.name, equal, count, told, unsent))
    return 1 if equal < count else 0


if __name__ == "__main__":
    sys.exit(main())
