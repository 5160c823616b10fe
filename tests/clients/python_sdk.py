#!/usr/bin/env python3
"""The official Python client (`pip install mcp`) against tome.

Run: python3 tests/clients/python_sdk.py [TOME]      (TOME: the program; default target/debug/tome)
Without the package nothing is tested, and that is said.
"""
import asyncio
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOME = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/debug/tome").resolve()


async def talk(folder):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    store = pathlib.Path(folder) / ".memory"
    store.mkdir()
    (store / "MEMORY.md").write_text("# Memory\n\n(empty)\n")
    server = StdioServerParameters(command=str(TOME), args=["mcp", "--store", str(store)], cwd=folder,
                                   env={"HOME": folder, "PATH": os.environ["PATH"]})
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert "recall_memory" in tools and "memory_write" in tools, tools
        written = await session.call_tool("memory_write", {
            "filename": "a.md", "name": "A", "description": "apples", "memory_type": "user", "content": "Apples."})
        assert written.content[0].text == "Memory saved: a.md", written
        found = await session.call_tool("recall_memory", {"query": "apples"})
        assert "Citation: a.md#L" in found.content[0].text, found
        failed = await session.call_tool("memory_read", {"filename": "none.md"})
        assert getattr(failed, "is_error", None) or getattr(failed, "isError", None), failed
        resources = (await session.list_resources()).resources
        assert len(resources) == 3, resources
        read = await session.read_resource(resources[-1].uri)
        assert "Apples." in read.contents[0].text, read
        prompts = [prompt.name for prompt in (await session.list_prompts()).prompts]
        assert prompts == ["recall", "store"], prompts
        prompt = await session.get_prompt("store", {"note": "remember this"})
        assert "note: remember this" in prompt.messages[0].content.text, prompt


def main():
    try:
        import mcp  # noqa: F401
    except ImportError:
        print("not run: the Python package mcp is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(talk(folder))
    print("the Python client ... ok")


if __name__ == "__main__":
    main()
