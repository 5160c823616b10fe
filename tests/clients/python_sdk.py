#!/usr/bin/env python3
"""The official Python client (`pip install mcp`) against tome: every tool of every layout, errors, a cancelled call,
1,000 calls in a row, two clients at once.

Run: python3 tests/clients/python_sdk.py [TOME]      (TOME: the program; default target/debug/tome)
Without the package nothing is tested, and that is said.
"""
import asyncio
import contextlib
import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/debug/tome").resolve()

LESSON = {"type": "semantic", "title": "Retry with jitter", "description": "spread retries", "content": "Random delays.", "tags": ["retry", "success"]}
EVENT = {"event_id": "e1", "timestamp": 1000, "event_type": "user_message", "role": "user", "text": "the first event"}

# Tools that walk the timeline of the sessions, which a store of events is one of.
TIMELINE = {"get_toc_root", "get_node", "browse_toc", "teleport_query", "expand_grip"}

# For each layout: the files that are there, and every tool with arguments and what the answer must hold.
LAYOUTS = {
    "index": ({"MEMORY.md": "# Memory\n\n(empty)\n"}, [
        ("memory_write", {"filename": "a.md", "name": "A", "description": "apples", "memory_type": "user", "content": "Apples."}, "Memory saved: a.md"),
        ("memory_view", {"target": "index"}, "- [A](a.md) - apples"),
        ("memory_read", {"filename": "a.md"}, "Apples."),
        ("memory_update", {"filename": "a.md", "old_text": "Apples", "new_text": "Pears"}, "Memory updated: a.md"),
        ("recall_memory", {"query": "pears"}, "Citation: a.md#L"),
        ("memory_delete", {"filename": "a.md"}, "Memory deleted: a.md"),
    ]),
    "facts": ({"facts/user.md": "# User\n\n> Summary: who\n\n- Name: Kim\n"}, [
        ("memory_list", {}, "facts/user.md"),
        ("memory_read", {"path": "facts/user.md"}, "Kim"),
        ("memory_write", {"path": "facts/project.md", "content": "# P\n\n> Summary: p\n"}, "\"success\":true"),
        ("memory_patch", {"path": "facts/user.md", "patches": [{"oldText": "Kim", "newText": "Lee"}]}, "\"appliedCount\":1"),
        ("memory_append", {"path": "episodes/2026-02.md", "entry": "## A\n- Summary: did a\n"}, "\"success\":true"),
        ("recall_memory", {"query": "Lee"}, "Citation: facts/user.md#L5"),
    ]),
    "session": ({"messages.jsonl": json.dumps({"type": "session", "version": 1, "id": "s", "cwd": "/p"}) + "\n" + json.dumps(
        {"type": "message", "id": "1", "message": {"role": "user", "content": [{"type": "text", "text": "where is the zebra?"}]}}) + "\n",
        "working-memory/detail/zebra.md": "# Zebra\n\nIn enclosure 7.\n"}, [
        ("recall_memory", {"query": "zebra"}, "Citation: messages.jsonl#L2"),
        ("memory_list", {}, "detail/zebra.md"),
        ("memory_read", {"path": "detail/zebra.md#L3"}, "In enclosure 7."),
    ]),
    "coder": ({"semantic/errors.md": "**Title:** Old\n**Description:** d\n\n**Content:** c\n\n**Tags:** #x\n"}, [
        ("coder_memory_store", LESSON, "Memory updated: semantic/retry-with-jitter.md"),
        ("coder_memory_recall", {"query": "how do retries wait"}, "Citation: semantic/retry-with-jitter.md#retry-with-jitter"),
        ("recall_memory", {"query": "jitter"}, "Citation: semantic/retry-with-jitter.md#L1"),
        ("memory_list", {}, "semantic/errors.md"),
        ("memory_read", {"path": "semantic/errors.md#old"}, "**Title:** Old"),
    ]),
    "events": ({"events.jsonl": json.dumps(EVENT) + "\n"}, [
        ("get_events", {"from": 0, "to": 2000}, "the first event"),
        ("recall_memory", {"query": "first event"}, "the first event"),
        ("memory_list", {}, "events.jsonl"),
        ("memory_read", {"path": "events.jsonl"}, "the first event"),
    ]),
}


@contextlib.asynccontextmanager
async def served(home, *args, cwd=None):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=str(TOME), args=["mcp", *args], cwd=cwd or home, env={"HOME": str(home), "PATH": os.environ["PATH"]})
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        yield session


def made(home, files):
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)


def texts(result):
    return "\n".join(part.text for part in result.content)


def failed(result):
    return bool(getattr(result, "is_error", None) or getattr(result, "isError", None))


async def every_tool(home):
    for layout, (files, calls) in LAYOUTS.items():
        store = home / layout
        made(store, files)
        async with served(home, "--store", str(store)) as session:
            offered = {tool.name for tool in (await session.list_tools()).tools}
            assert offered - TIMELINE == {name for name, _, _ in calls}, (layout, offered)
            for name, given, expected in calls:
                result = await session.call_tool(name, given)
                assert not failed(result) and expected in texts(result), (layout, name, given, texts(result))


async def resources_and_prompts(home):
    made(home / "store", {"MEMORY.md": "# Memory\n\n- [A](a.md) - apples\n", "a.md": "---\nname: A\n---\n\nApples.\n"})
    async with served(home, "--store", str(home / "store")) as session:
        resources = (await session.list_resources()).resources
        assert len(resources) == 3, resources
        read = await session.read_resource(resources[-1].uri)
        assert "Apples." in read.contents[0].text, read
        templates = await session.list_resource_templates()
        assert "tome://{store}/{+path}" in str(templates), templates
        prompts = [prompt.name for prompt in (await session.list_prompts()).prompts]
        assert prompts == ["recall", "store"], prompts
        prompt = await session.get_prompt("store", {"note": "remember this"})
        assert "note: remember this" in prompt.messages[0].content.text, prompt


async def errors(home):
    made(home / "store", {"MEMORY.md": "# Memory\n\n(empty)\n"})
    async with served(home, "--store", str(home / "store")) as session:
        for name, given, words in [
            ("memory_read", {"filename": "none.md"}, "Error: Memory file 'none.md' not found."),
            ("memory_read", {"filename": "../x"}, "Path escapes memory directory: ../x"),
            ("memory_read", {}, "filename parameter is required"),
            ("memory_read", {"filename": 7}, "filename must be a string"),
            ("recall_memory", {"query": ""}, "query parameter is required"),
            ("recall_memory", {"query": "a", "scope": "x"}, "all, detail, messages"),
        ]:
            result = await session.call_tool(name, given)
            assert failed(result) and words in texts(result), (name, given, texts(result))
        try:
            await session.call_tool("no_such_tool", {})
        except Exception as error:
            assert "no_such_tool" in str(error), error
        else:
            raise AssertionError("an unknown tool is an error of the protocol")
    async with served(home, "--store", str(home / "store"), "--read-only") as session:
        tools = (await session.list_tools()).tools
        assert {tool.name for tool in tools} == {"recall_memory", "memory_view", "memory_read"}, tools


async def cancellation(home):
    """A long first reading of many logs is called off; the server goes on, and a later call finds everything."""
    made(home / "project/.memory", {"MEMORY.md": "# Memory\n\n(empty)\n", "a.md": "Apples.\n"})
    for number in range(300):
        lines = [json.dumps({"type": "user", "uuid": "%d-%d" % (number, line), "cwd": str(home / "project"), "sessionId": "s",
                             "message": {"role": "user", "content": "message %d of log %d, %s" % (line, number, "words " * 40)}}) for line in range(100)]
        made(home / ".claude/projects/-p", {"%08d-1111-1111-1111-111111111111.jsonl" % number: "\n".join(lines) + "\n"})
    (home / "project/.git").mkdir()
    async with served(home, cwd=home / "project") as session:
        asked = asyncio.create_task(session.call_tool("recall_memory", {"query": "message log words", "scope": "messages"}))
        await asyncio.sleep(0.05)
        other = await session.call_tool("memory_read", {"filename": "a.md"})
        assert "Apples." in texts(other), other
        was_running = not asked.done()
        asked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asked
        await session.send_ping()
        result = await session.call_tool("recall_memory", {"query": "\"message 99 of log 299,\""})
        assert "Found 1 result(s)" in texts(result), texts(result)[:500]
    return "called off while it was running" if was_running else "it was done before it could be called off"


async def a_thousand_calls(home):
    made(home / "store", {"MEMORY.md": "# Memory\n\n(empty)\n", "a.md": "---\nname: A\nupdated: 2026-01-01\n---\n\ncount 0.\n"})
    async with served(home, "--store", str(home / "store")) as session:
        for number in range(1000):
            kind = number % 4
            if kind == 0:
                count = number // 4
                given = {"filename": "a.md", "old_text": "count %d." % count, "new_text": "count %d." % (count + 1)}
                assert not failed(await session.call_tool("memory_update", given)), number
            elif kind == 1:
                assert "count %d." % (number // 4 + 1) in texts(await session.call_tool("memory_read", {"filename": "a.md"})), number
            elif kind == 2:
                assert "Citation: a.md#L6" in texts(await session.call_tool("recall_memory", {"query": "count"})), number
            else:
                assert not failed(await session.call_tool("memory_view", {"target": "index"})), number


async def two_clients(home):
    made(home / "store", {"MEMORY.md": "# Memory\n\n(empty)\n"})

    async def work(client):
        async with served(home, "--store", str(home / "store")) as session:
            for number in range(25):
                name = "m%d_%d.md" % (client, number)
                given = {"filename": name, "name": name, "description": "d", "memory_type": "project", "content": "c"}
                result = await session.call_tool("memory_write", given)
                assert not failed(result), texts(result)

    await asyncio.gather(work(1), work(2))
    index = (home / "store/MEMORY.md").read_text()
    assert index.count("- [m") == 50 and len(list((home / "store").glob("m*.md"))) == 50, index


def main():
    try:
        import mcp  # noqa: F401
    except ImportError:
        print("not run: the Python package mcp is not installed")
        return
    for part in [every_tool, resources_and_prompts, errors, cancellation, a_thousand_calls, two_clients]:
        with tempfile.TemporaryDirectory() as folder:
            said = asyncio.run(part(pathlib.Path(folder).resolve()))
        print("%s ... ok%s" % (part.__name__, " (%s)" % said if said else ""))


if __name__ == "__main__":
    main()
