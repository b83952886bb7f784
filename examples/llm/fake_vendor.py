#!/usr/bin/env python3
"""A vendor of language models that costs nothing: it answers in the forms of OpenAI, Anthropic and Gemini, counts a
word as a token, and writes a line for every call with the tokens that it would bill.

    fake_vendor.py [--listen 127.0.0.1:9100] [--key KEY] [--log FILE]

A prompt "count to 12" is answered with twelve words, and any other with five; max_tokens ends an answer early. The
words "fail with 503" in a prompt give that status, "cache" and "think" give cached and reasoning tokens, "use a tool"
a tool call, "slowly" a pause between events, "wait" one until the test goes on, "no usage" an answer without its usage, "break" a connection that ends
in the middle.
"""
import argparse
import http.server
import json
import re
import sys
import threading
import time


def texts(value):
    """Every text in a JSON value that is a part of the prompt."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, dict):
        for name in ("content", "text", "parts", "input", "messages", "contents", "prompt"):
            if name in value:
                yield from texts(value[name])


class Call:
    """What one request asks for, and what is counted of it."""

    def __init__(self, body, most):
        self.prompt = " ".join(texts(body))
        self.input = len(self.prompt.split())
        wanted = re.search(r"count to (\d+)", self.prompt)
        self.total = int(wanted.group(1)) if wanted else 5
        if most is not None:
            self.total = min(self.total, most)
        self.finish = "length" if most is not None and self.total == most else "stop"
        self.cached = 3 if "cache" in self.prompt else 0
        self.thoughts = 2 if "think" in self.prompt else 0
        self.tool = "use a tool" in self.prompt
        self.usage = "no usage" not in self.prompt
        self.pause = 0.02 if "slowly" in self.prompt else 0
        self.breaks = "break" in self.prompt
        self.waits = "wait" in self.prompt
        self.sent = 0
        self.ended = lambda: None  # called when nothing is left to compute
        self.go_on = threading.Event()

    def words(self):
        for number in range(1, self.total + 1):
            if self.breaks and number > self.total // 2:
                raise ConnectionAbortedError("as the prompt asks")
            if self.pause:
                time.sleep(self.pause)
            if self.waits and number == 2:
                self.go_on.wait(600)
            yield f"{number} "
            self.sent = number
        self.ended()


class Vendor(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, key=None, log=None):
        super().__init__(address, Handler)
        self.key = key
        self.log_to = log
        self.lock = threading.Lock()
        self.calls = []
        self.open_now = self.open_most = 0
        self.go_on = threading.Event()  # for calls that wait
        self.go_on.set()

    def bill(self, api, model, call, complete):
        """One line for a call; an answer that was cut counts what was sent."""
        line = {"api": api, "model": model, "input": call.input, "cached": call.cached, "complete": complete,
                "output": (call.total if complete else call.sent) + (call.thoughts if complete or call.sent else 0)}
        with self.lock:
            self.calls.append(line)
            if self.log_to:
                print(json.dumps(line), file=self.log_to, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(6, 1, 1)  # TCP_NODELAY: each event leaves at once

    def answer(self, status, value, fields=()):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-ratelimit-remaining-requests", "999")
        for name, text in fields:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def event(self, value, name=None):
        text = (f"event: {name}\n" if name else "") + f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n"
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def stream(self, kind="text/event-stream"):
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        self.answer(200, {"object": "list", "data": [{"id": "gpt-4o", "object": "model"}]})

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        keys = [self.headers.get(name, "").removeprefix("Bearer ") for name in
                ("Authorization", "x-api-key", "x-goog-api-key")]
        if server.key and server.key not in keys:
            return self.answer(401, {"error": {"message": "wrong key", "type": "authentication_error"}})
        body = json.loads(body)
        path = self.path.partition("?")[0]
        failure = re.search(r"fail with (\d+)", " ".join(texts(body)))
        if failure:
            return self.answer(int(failure.group(1)), {"error": {"message": "as the prompt asks", "type": "server_error"}},
                               [("retry-after", "0")])
        with server.lock:
            server.open_now += 1
            server.open_most = max(server.open_most, server.open_now)
        self.is_open = True
        try:
            if path.endswith("/completions"):
                self.chat(body)
            elif path.endswith("/responses"):
                self.response(body)
            elif path.endswith("/embeddings"):
                self.embeddings(body)
            elif path.endswith("/messages"):
                self.messages(body)
            elif ":" in path:
                self.gemini(body, path)
            else:
                self.answer(404, {"error": {"message": "no such call", "type": "invalid_request_error"}})
        finally:
            self.leave()

    def leave(self):
        with self.server.lock:
            self.server.open_now -= 1 if self.is_open else 0
            self.is_open = False

    def run(self, api, model, call, send):
        """Sends an answer, and bills it whatever becomes of it."""
        complete = False
        call.ended, call.go_on = self.leave, self.server.go_on
        try:
            send()
            complete = True
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        finally:
            self.server.bill(api, model, call, complete)

    def chat(self, body):
        call = Call(body, body.get("max_completion_tokens", body.get("max_tokens")))
        usage = {"prompt_tokens": call.input, "completion_tokens": call.total + call.thoughts,
                 "total_tokens": call.input + call.total + call.thoughts,
                 "prompt_tokens_details": {"cached_tokens": min(call.cached, call.input)},
                 "completion_tokens_details": {"reasoning_tokens": call.thoughts}}
        base = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
        tool = [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}]

        def plain():
            text = "".join(call.words())
            message = {"role": "assistant", "content": None if call.tool else text}
            if call.tool:
                message["tool_calls"] = tool
            value = base | {"object": "chat.completion", "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if call.tool else call.finish}]}
            self.answer(200, value | ({"usage": usage} if call.usage else {}))

        def streamed():
            self.stream()
            chunk = base | {"object": "chat.completion.chunk"}
            asked = (body.get("stream_options") or {}).get("include_usage")
            rest = {"usage": None} if asked else {}

            def part(delta, finish=None):
                self.event(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} | rest)
            part({"role": "assistant", "content": ""})
            if call.tool:
                part({"tool_calls": tool})
            for word in call.words():
                part({"content": word})
            part({}, call.finish)
            if asked and call.usage:
                self.event(chunk | {"choices": [], "usage": usage})
            self.event("[DONE]")
            self.end_stream()
        self.run("chat", body["model"], call, streamed if body.get("stream") else plain)

    def response(self, body):
        call = Call(body, body.get("max_output_tokens"))
        usage = {"input_tokens": call.input, "input_tokens_details": {"cached_tokens": min(call.cached, call.input)},
                 "output_tokens": call.total + call.thoughts, "output_tokens_details": {"reasoning_tokens": call.thoughts},
                 "total_tokens": call.input + call.total + call.thoughts}
        value = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"],
                 "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "metadata": {}}

        def output(text):
            return [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                     "content": [{"type": "output_text", "text": text, "annotations": []}]}]

        def plain():
            self.answer(200, value | {"output": output("".join(call.words())), "usage": usage})

        def streamed():
            self.stream()
            order = iter(range(10**9))

            def send(kind, **rest):
                self.event({"type": kind, "sequence_number": next(order)} | rest, kind)
            send("response.created", response=value | {"status": "in_progress", "output": [], "usage": None})
            text = ""
            for word in call.words():
                text += word
                send("response.output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta=word, logprobs=[])
            send("response.completed", response=value | {"output": output(text), "usage": usage})
            self.end_stream()
        self.run("responses", body["model"], call, streamed if body.get("stream") else plain)

    def embeddings(self, body):
        call = Call(body, 0)
        many = body["input"] if isinstance(body["input"], list) else [body["input"]]
        usage = {"prompt_tokens": call.input, "total_tokens": call.input}
        self.run("embeddings", body["model"], call, lambda: self.answer(200, {
            "object": "list", "model": body["model"], "usage": usage,
            "data": [{"object": "embedding", "index": i, "embedding": [0.5] * 8} for i in range(len(many))]}))

    def messages(self, body):
        call = Call(body, body.get("max_tokens"))
        counted = {"input_tokens": call.input, "cache_read_input_tokens": call.cached, "cache_creation_input_tokens": 0}
        value = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
        stop = {"length": "max_tokens", "stop": "end_turn"}[call.finish]
        tool = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"usage": {"input_tokens": 9999}}}

        def plain():
            content = [{"type": "text", "text": "".join(call.words())}] + ([tool] if call.tool else [])
            self.answer(200, value | {"content": content, "stop_reason": "tool_use" if call.tool else stop,
                                      "usage": counted | {"output_tokens": call.total + call.thoughts}})

        def streamed():
            self.stream()

            def send(kind, **rest):
                self.event({"type": kind} | rest, kind)
            send("message_start", message=value | {"content": [], "stop_reason": None,
                                                   "usage": counted | {"output_tokens": 1}})
            send("content_block_start", index=0, content_block={"type": "text", "text": ""})
            send("ping")
            for word in call.words():
                send("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
            send("content_block_stop", index=0)
            send("message_delta", delta={"stop_reason": stop, "stop_sequence": None},
                 usage={"output_tokens": call.total + call.thoughts})
            send("message_stop")
            self.end_stream()
        self.run("messages", body["model"], call, streamed if body.get("stream") else plain)

    def gemini(self, body, path):
        call = Call(body, body.get("generationConfig", {}).get("maxOutputTokens"))
        model = path.rsplit("/", 1)[1].partition(":")[0]

        def value(text, output):
            return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}], "modelVersion": model,
                    "usageMetadata": {"promptTokenCount": call.input, "candidatesTokenCount": output,
                                      "thoughtsTokenCount": call.thoughts, "cachedContentTokenCount": call.cached}}

        def streamed():
            self.stream()
            for number, word in enumerate(call.words(), 1):
                self.event(value(word, number))
            self.end_stream()

        def plain():
            self.answer(200, value("".join(call.words()), call.total))
        self.run("gemini", model, call, streamed if "stream" in path else plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="127.0.0.1:9100")
    parser.add_argument("--key", help="refuse calls with another key")
    parser.add_argument("--log", type=argparse.FileType("a"), default=sys.stdout, help="where the lines of calls go")
    options = parser.parse_args()
    host, _, port = options.listen.rpartition(":")
    server = Vendor((host, int(port)), options.key, options.log)
    print(f"the fake vendor listens on http://{host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
