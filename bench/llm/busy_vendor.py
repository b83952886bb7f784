#!/usr/bin/env python3
"""A vendor of language models for benchmarks, in the form of OpenAI: it answers every chat with the same text at once,
and writes each event of a stream by itself.

    busy_vendor.py PORT
"""
import asyncio
import json
import sys

text = "x" * 1800
words = [f"w{number:03}" for number in range(200)]  # LiteLLM takes an event that repeats 100 times for a fault
streamed = "".join(words)
usage = {"prompt_tokens": 10, "completion_tokens": 200, "total_tokens": 210}


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value):
    return chunk(b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n")


plain_answer = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}], "usage": usage}).encode()
stream_answer = [event({"id": "c", "choices": [{"index": 0, "delta": {"content": word}}]}) for word in words]
stream_end = (event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) +
              event({"choices": [], "usage": usage}) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")


async def answer_calls(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
            if b"bearer vendor-secret" not in head:
                writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            elif not json.loads(body).get("stream"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" %
                             (len(plain_answer), plain_answer))
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n")
                for data in stream_answer:
                    writer.write(data)
                    await asyncio.sleep(0)
                writer.write(stream_end)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(port):
    server = await asyncio.start_server(answer_calls, "127.0.0.1", port, backlog=256)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
