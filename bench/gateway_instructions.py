#!/usr/bin/env python3
"""Counts the instructions of `weir gateway` per request, with valgrind --tool=callgrind.

    bench/gateway_instructions.py build/release/weir [OTHER_WEIR...] [--also decision_log='{mode: off}']

Each case runs the gateway twice, on one thread with a store in memory, and drives it over one keep-alive
connection with FEW and then with MANY requests. The difference of both totals, per request, is without the
start and the end of the process. System calls count no instructions of the kernel. With several programs,
the first is the baseline of the others: give the `weir` of an older commit first to compare with it.

--also adds a top-level field to the gateway's file, of the later programs only. --profile FOLDER keeps the
profile of each longer run, for callgrind_annotate. Figures differ by about ten instructions between runs,
since hash seeds and waits do. It takes about a minute for each program, and is no part of the gate.
"""
import argparse
import http.server
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

ENOUGH = "{requests: 1000000/s:1000000}"
NOTHING = "{requests: 1/day}"
ROUTES = {"address": "client_ip", "header": "header:X-Api-Key"}
REQUEST = (b"GET /items/1 HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n"
           b"X-Api-Key: customer-1\r\n\r\n")


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the answer is one write, as that of usual servers

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connect(port, process):
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            if process.poll() is not None:
                raise SystemExit("the gateway has ended: " + process.stderr.read().decode())
            time.sleep(0.1)
    raise SystemExit("the gateway does not listen")


def read_answer(connection, buffered):
    """Returns the status, and what was read beyond the answer."""
    while (end := buffered.find(b"\r\n\r\n")) < 0:
        buffered += receive(connection)
    length = int(re.search(rb"(?i)\r\ncontent-length: (\d+)", buffered[:end]).group(1))
    while len(buffered) < end + 4 + length:
        buffered += receive(connection)
    return buffered[9:12], buffered[end + 4 + length:]


def receive(connection):
    data = connection.recv(65536)
    if not data:
        raise SystemExit("the gateway has closed the connection")
    return data


def total(program, text, requests, status, profile):
    """The instructions of a gateway from start to end, which gets so many requests."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "gateway.yaml")
        with open(config, "w") as file:
            file.write(f"listen: 127.0.0.1:{port}\n{text}")
        out = profile or os.path.join(folder, "profile")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, "gateway",
                   "--config", config]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            with connect(port, process) as connection:
                buffered = b""
                for i in range(requests):
                    connection.sendall(REQUEST)
                    seen, buffered = read_answer(connection, buffered)
                    # The first requests may use up what a limit admits.
                    if seen != status and i > 1:
                        raise SystemExit(f"answered {seen.decode()}, not {status.decode()}")
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    return int(re.search(rb"Collected : (\d+)", errors).group(1))


def per_request(program, case, text, status, options):
    profile = None
    if options.profile:
        os.makedirs(options.profile, exist_ok=True)
        profile = os.path.join(options.profile, re.sub(r"\W+", "-", f"{program} {case}").strip("-"))
    few = total(program, text, options.few, status, None)
    many = total(program, text, options.many, status, profile)
    return (many - few) / (options.many - options.few)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", nargs="+")
    parser.add_argument("--also", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--only", default="", help="the cases whose names contain this")
    parser.add_argument("--few", type=int, default=2_000)
    parser.add_argument("--many", type=int, default=12_000)
    parser.add_argument("--profile", metavar="FOLDER")
    options = parser.parse_args()
    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    also = "".join(field.replace("=", ": ", 1) + "\n" for field in options.also)
    for answer, limits, status in (("admitted", ENOUGH, b"200"), ("refused", NOTHING, b"429")):
        for name, by in ROUTES.items():
            case = f"{answer}, by {name}"
            if options.only not in case:
                continue
            route = (f"{{path: /, upstream: 'http://127.0.0.1:{upstream.server_port}', limit_by: '{by}', "
                     f"limits: {limits}}}")
            base = None
            for program in options.program:
                text = f"store: memory\nthreads: 1\nroutes:\n  - {route}\n"
                if base is not None or len(options.program) == 1:
                    text += also
                figure = per_request(os.path.abspath(program), case, text, status, options)
                base = base or figure
                print(f"{case:24} {figure:9.1f} {figure / base:6.3f}  {program}", flush=True)


if __name__ == "__main__":
    main()
