#!/usr/bin/env python3
"""LiteLLM's proxy beside `weir gateway`: the processor time of each proxy for one call.

    ./dev bench --litellm [--rounds N]
    bench_litellm.py [--rounds N] WEIR LITELLM FOLDER     the two programs, and a folder for their files

One process with one thread or worker each, the same fake vendor, 16 connections, alternating rounds after one that
warms up. Two answers: JSON of 2 KB, and a stream of 200 events of 69 bytes, each of which the vendor writes by itself.
The time is user and system time from /proc/PID/stat, with that of children, until the work after the last call has
ended. Printed are the medians, the range of the rounds, their ratio, and how many calls were answered as they should
be. One that was not ends the benchmark: every answer must have status 200, the whole text and the vendor's usage.

Both proxies know one key and hold rpm, tpm and parallel calls of it in memory, both price each call, and both ask the
vendor with a key of their own. Before the rounds a key with few tokens per minute must be refused after its first call
by both, for either answer. This shows that both count the tokens of answers and of streams.

LiteLLM does less here than in a usual installation:
- It has no database. `custom_auth`, a short function, knows the key and its limits. LiteLLM then skips its own look-up
  of the key, and it writes no spend.
- Its log has errors only, it has no callbacks and no cache, and its server is the default one, uvicorn.
- The client asks for the usage of a stream, so LiteLLM does not count tokens of the text itself.
It does more than weir in one respect: it reads each event and writes it anew in its own form.

weir does what it does by default: it charges an estimate and settles the usage, and keeps a decision log of refusals.

The programs reach only 127.0.0.1: LiteLLM uses the prices and the other data of its own package, with telemetry off.
"""
import argparse
import asyncio
import json
import os
import pathlib
import secrets
import socket
import statistics
import subprocess
import sys
import time

import busy_vendor as vendor

connections = 16
calls = {("weir", False): 10000, ("weir", True): 600, ("litellm", False): 600, ("litellm", True): 60}
bar = 50


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# The client.

def request(port, streams, key, host="any.test"):
    body = {"model": "gpt-4o", "max_tokens": 300, "messages": [{"role": "user", "content": "hello"}]}
    if streams:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    body = json.dumps(body, separators=(",", ":")).encode()
    return (f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


async def call(reader, writer, data):
    """The status and the body of an answer."""
    writer.write(data)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = int(head.split()[1])
    if b"\r\ncontent-length:" in head:
        return status, await reader.readexactly(int(head.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0]))
    raw = b""
    while not raw.endswith(b"\r\n0\r\n\r\n"):
        piece = await reader.read(65536)
        if not piece:
            raise ConnectionError("an answer broke off")
        raw += piece
    body, at = b"", 0
    while True:
        end = raw.index(b"\r\n", at)
        size = int(raw[at:end], 16)
        if size == 0:
            return status, body
        body += raw[end + 2:end + 2 + size]
        at = end + 4 + size


def check(streams, status, body):
    """Ends the benchmark for an answer that is not as it should be."""
    try:
        if streams:
            data = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
            values = [json.loads(one) for one in data[:-1]]
            got = "".join(choice["delta"].get("content") or "" for value in values for choice in value["choices"])
            used = [value["usage"] for value in values if value.get("usage")][-1]
            right = data[-1] == b"[DONE]" and got == vendor.streamed
        else:
            value = json.loads(body)
            used = value["usage"]
            right = value["choices"][0]["message"]["content"] == vendor.text
        right = right and status == 200 and all(used[name] == count for name, count in vendor.usage.items())
    except (ValueError, KeyError, IndexError):
        right = False
    if not right:
        sys.exit(f"an answer is not as it should be: {status} {body[:2000]!r}")


async def make_calls(port, streams, count):
    left = iter(range(count))
    data = request(port, streams, "sk-customer")

    async def connection():
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        done = 0
        for _ in left:
            check(streams, *await call(reader, writer, data))
            done += 1
        writer.close()
        return done
    return sum(await asyncio.gather(*(connection() for _ in range(connections))))


async def refused(port, streams):
    """Whether calls of a key with 350 tokens a minute, of which each takes 210, are refused after the first."""
    for number in range(4):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        data = request(port, streams, f"sk-few-{int(streams)}", f"few{int(streams)}.test")
        status, body = await call(reader, writer, data)
        writer.close()
        if status == 429 and number > 0:
            return True
        check(streams, status, body)
        await asyncio.sleep(1)  # LiteLLM counts a call some time after its answer
    return False


# The proxies.

keys = '''from litellm.proxy._types import UserAPIKeyAuth

async def check(request, api_key):
    if api_key == "sk-customer":
        return UserAPIKeyAuth(api_key=api_key, rpm_limit=10**9, tpm_limit=10**12, max_parallel_requests=1000)
    if api_key in ("sk-few-0", "sk-few-1"):
        return UserAPIKeyAuth(api_key=api_key, tpm_limit=350)
    raise ValueError("an unknown key")
'''


def few(number, rest):
    return (f"  - {{path: /, host: few{number}.test, name: few{number}, models: {{gpt-4o: few{number}}}, {rest}, "
            "limits: {tpm: 350/min}}\n")


def write_weir(folder, port, upstream):
    (folder / "prices.yaml").write_text("models:\n  gpt-4o: {input: 2.50, cached_input: 1.25, output: 10}\n")
    rest = (f"llm: openai, limit_by: bearer, upstream: \"http://127.0.0.1:{upstream}\", upstream_key: env:VENDOR_KEY, "
            f"prices: {folder}/prices.yaml")
    (folder / "weir.yaml").write_text(
        f"listen: 127.0.0.1:{port}\nstore: memory\nthreads: 1\nroutes:\n  - {{path: /, name: models, {rest}, "
        "limits: {rpm: 1000000000/min, tpm: 1000000000000/min, usd: 1000000000000/day, calls: 1000:concurrent}}\n" +
        few(0, rest) + few(1, rest))


def write_litellm(folder, upstream):
    (folder / "keys.py").write_text(keys)
    (folder / "litellm.yaml").write_text(
        f"model_list:\n  - model_name: gpt-4o\n    litellm_params: {{model: openai/gpt-4o, api_base: "
        f"\"http://127.0.0.1:{upstream}/v1\", api_key: vendor-secret}}\n"
        "general_settings: {custom_auth: keys.check}\nlitellm_settings: {num_retries: 0, telemetry: false}\n"
        "router_settings: {num_retries: 0}\n")


def start(command, folder, port, log):
    """A process that listens. It is given nothing of our environment that could send it elsewhere."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "VENDOR_KEY": "vendor-secret",
                   "LITELLM_MASTER_KEY": "sk-" + secrets.token_hex(32), "LITELLM_MODE": "PRODUCTION",
                   "LITELLM_LOG": "ERROR", "LITELLM_TELEMETRY": "False", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    environment |= {f"LITELLM_LOCAL_{name}": "True" for name in (
        "MODEL_COST_MAP", "ANTHROPIC_BETA_HEADERS", "AUTOROUTER_PRESETS", "BLOG_POSTS", "POLICY_TEMPLATES")}
    with open(folder / log, "wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=output)
    for _ in range(1800):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        if process.poll() is not None:
            break
        time.sleep(0.1)
    stop(process)
    sys.exit(f"{command[0]} did not start, see {folder / log}")


def stop(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_seconds(pid):
    """Of the process and of all that descend from it, running or ended."""
    parents, ticks = {}, {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    family, total = [pid], 0
    for one in family:
        total += ticks[one]
        family += [child for child, parent in parents.items() if parent == one]
    return total / os.sysconf("SC_CLK_TCK")


def cpu_at_rest(pid):
    """Waits until the work that follows answers has ended."""
    now = cpu_seconds(pid)
    for _ in range(20):
        time.sleep(0.5)
        before, now = now, cpu_seconds(pid)
        if now - before < 0.025:
            break
    return now


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="WEIR LITELLM FOLDER")
    options = parser.parse_args()
    if len(options.paths) != 3 or options.rounds < 1:
        parser.error("name weir, litellm and a folder")
    weir, litellm, folder = (path.absolute() for path in options.paths)
    folder.mkdir(parents=True, exist_ok=True)
    upstream, ports = free_port(), {"weir": free_port(), "litellm": free_port()}
    write_weir(folder, ports["weir"], upstream)
    write_litellm(folder, upstream)
    running = []
    try:
        running.append(start([sys.executable, vendor.__file__, str(upstream)], folder, upstream, "vendor.log"))
        running.append(start([weir, "gateway", "--config", folder / "weir.yaml"], folder, ports["weir"], "weir.log"))
        running.append(start([litellm, "--config", folder / "litellm.yaml", "--host", "127.0.0.1", "--port",
                              str(ports["litellm"]), "--num_workers", "1", "--telemetry", "False"], folder,
                             ports["litellm"], "litellm.log"))
        pids = {"weir": running[1].pid, "litellm": running[2].pid}
        return measure(options.rounds, ports, pids)
    finally:
        for process in running:
            stop(process)


def measure(rounds, ports, pids):
    for name in pids:
        for streams in (False, True):
            if not asyncio.run(refused(ports[name], streams)):
                sys.exit(f"{name} does not limit tokens")
    reached = True
    for streams in (False, True):
        times, answered = {"weir": [], "litellm": []}, {"weir": 0, "litellm": 0}
        for number in range(rounds + 1):
            for name in sorted(pids, reverse=number % 2 == 0):
                before = cpu_at_rest(pids[name])
                count = asyncio.run(make_calls(ports[name], streams, calls[name, streams]))
                used = (cpu_at_rest(pids[name]) - before) / count
                if number > 0:
                    times[name].append(used)
                    answered[name] += count
        ratio = statistics.median(b / a for a, b in zip(times["weir"], times["litellm"]))
        reached = reached and ratio >= bar
        print("a stream of 200 events" if streams else "JSON of 2 KB")
        for name, values in times.items():
            middle, least, most = (figure(values) * 1e6 for figure in (statistics.median, min, max))
            print(f"  {name:8} {answered[name]:6} calls, each answered in full: {middle:9.1f} us of CPU per call "
                  f"({least:.1f} to {most:.1f} in {rounds} rounds)")
        print(f"  LiteLLM takes {ratio:.0f} times as much CPU (bar {bar})", flush=True)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
