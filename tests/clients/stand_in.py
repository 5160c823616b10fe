"""A loopback stand-in for the Messages API: answers the k-th request that carries tools with the k-th scripted turn.

A turn is a list of content blocks: {"type": "text", "text": …} or {"type": "tool_use", "name": …, "input": {…}}.
Every request body is kept in `requests`.
"""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StandIn:
    def __init__(self, turns):
        self.turns, self.requests, self.lock = turns, [], threading.Lock()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.reply("text/plain", b"")

            def do_GET(self):
                self.reply("application/json", b"{}")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                kind, answer = stand_in.answer(self.path, body)
                self.reply(kind, answer)

            def reply(self, kind, body):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def turns_of(self, _):
        """The turns from which a request is answered."""
        return self.turns

    def answer(self, path, body):
        try:
            request = json.loads(body)
        except ValueError:
            request = {}
        if "count_tokens" in path:
            return "application/json", b'{"input_tokens": 10}'
        if "/messages" not in path:
            return "application/json", b"{}"
        with self.lock:
            self.requests.append(request)
            number = len(self.requests)
            turns = self.turns_of(request) if len(request.get("tools") or []) > 1 else []
            blocks = turns.pop(0) if turns else [{"type": "text", "text": "ok"}]
        blocks = [
            dict(block, id="toolu_%04d%d" % (number, at)) if block["type"] == "tool_use" else block
            for at, block in enumerate(blocks)
        ]
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        message = {
            "id": "msg_%04d" % number, "type": "message", "role": "assistant", "model": request.get("model", "m"),
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        if not request.get("stream"):
            return "application/json", json.dumps(dict(message, content=blocks, stop_reason=stop)).encode()
        events = [{"type": "message_start", "message": message}]
        for at, block in enumerate(blocks):
            if block["type"] == "text":
                start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = dict(block, input={})
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": at, "content_block": start},
                {"type": "content_block_delta", "index": at, "delta": delta},
                {"type": "content_block_stop", "index": at},
            ]
        events += [
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": message["usage"]},
            {"type": "message_stop"},
        ]
        text = "".join("event: %s\ndata: %s\n\n" % (event["type"], json.dumps(event)) for event in events)
        return "text/event-stream", text.encode()


class Recording:
    """A stand-in that answers on 127.0.0.1 with what `answer` returns, and keeps the requests."""

    def __init__(self, turns):
        self.turns, self.requests, self.lock = list(turns), [], threading.Lock()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply("application/json", json.dumps({"object": "list", "data": [{"id": "stand-in", "object": "model"}], "models": []}))

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                self.reply(*stand_in.answer(self.path, json.loads(body or b"{}")))

            def reply(self, kind, body):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body.encode())))
                self.end_headers()
                try:
                    self.wfile.write(body.encode())
                except BrokenPipeError:
                    pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def turns_of(self, _):
        """The turns from which a request is answered."""
        return self.turns

    def next(self, request, tools):
        """The next turn for a request of the session itself, which offers tools; `ok` for any other."""
        with self.lock:
            self.requests.append(request)
            turns = self.turns_of(request) if tools > 2 else []
            return turns.pop(0) if turns else {"text": "ok"}


class Gemini(Recording):
    """The Gemini API. A turn is {"text": …} or {"call": (name, arguments)}."""

    def answer(self, path, request):
        if "enerateContent" not in path:
            return "application/json", json.dumps({"totalTokens": 10})
        tools = sum(len(tool.get("functionDeclarations", [])) for tool in request.get("tools") or [])
        turn = self.next(request, tools)
        name, given = turn.get("call", (None, None))
        part = {"functionCall": {"name": name, "args": given}} if name else {"text": turn["text"]}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                  "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}}
        if "stream" in path:
            return "text/event-stream", "data: %s\r\n\r\n" % json.dumps(answer)
        return "application/json", json.dumps(answer)


class ChatCompletions(Recording):
    """The Chat Completions API. A turn is {"text": …} or {"call": (name, arguments)}."""

    def answer(self, path, request):
        if not path.endswith("/chat/completions"):
            return "application/json", "{}"
        turn = self.next(request, len(request.get("tools") or []))
        number = len(self.requests)
        base = {"id": "c%d" % number, "created": 1, "model": "stand-in",
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
        message, ending = {"role": "assistant", "content": turn.get("text")}, "stop"
        if "call" in turn:
            name, given = turn["call"]
            call = {"index": 0, "id": "call_%d" % number, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            message, ending = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": ending}
            return "application/json", json.dumps(dict(base, object="chat.completion", choices=[choice]))
        parts = [(message, None), ({}, ending)]
        chunks = [dict(base, object="chat.completion.chunk", choices=[{"index": 0, "delta": delta, "finish_reason": end}]) for delta, end in parts]
        return "text/event-stream", "".join("data: %s\n\n" % json.dumps(chunk) for chunk in chunks) + "data: [DONE]\n\n"
