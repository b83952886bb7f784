#!/usr/bin/env python3
"""Sync as a function of AWS Lambda: the program as `bootstrap`, with a runtime API that hands out events of a schedule.

    lambda_test.py WEIR

Two regions on two redis-servers. Each event runs one cycle: the limit moves to the region that uses it. A cycle that
fails is answered with its error, and the next one succeeds. A function that cannot start says why.
"""
import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from regions_test import PATIENCE, WHOLE, Region, redis

API = "/2018-06-01/runtime/"
EVENT = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}


class Runtime:
    """The runtime API of Lambda, for one function."""

    def __init__(self):
        runtime = self
        self.events, self.answers, self.sent = queue.Queue(), queue.Queue(), 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body=b"{}", **fields):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **fields}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                assert self.path == f"{API}invocation/next", self.path
                number, event = runtime.events.get()
                self.answer(200, json.dumps(event).encode(), **{"Lambda-Runtime-Aws-Request-Id": f"id-{number}"})

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                runtime.answers.put((self.path.removeprefix(API), json.loads(body)))
                self.answer(202)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # A function that is killed leaves its connection.
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def environment(self):
        return {**os.environ, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.server.server_port}"}

    def invoke(self):
        """Sends one event. Returns `response` or `error`, and the body of the answer."""
        self.sent += 1
        self.events.put((self.sent, EVENT))
        path, body = self.answers.get(timeout=PATIENCE)
        number, ending = path.removeprefix("invocation/id-").split("/")
        assert int(number) == self.sent, path
        return ending, body


class Function(Region):
    """The sync of a region, which runs a cycle when it is invoked."""

    def start(self):
        self.runtime = Runtime()
        bootstrap = self.config.with_name("bootstrap")
        if not bootstrap.exists():
            bootstrap.symlink_to(pathlib.Path(self.weir).resolve())
        self.process = subprocess.Popen([bootstrap, "sync", "--config", self.config, "--log-level", "error"],
                                        env=self.runtime.environment())


def expect_that_it_moves(eu, us):
    """All demand is in eu."""
    end = time.monotonic() + PATIENCE
    while eu.share() < 0.9 * WHOLE:
        assert time.monotonic() < end, f"still eu {eu.share()}, us {us.share()}"
        eu.use()
        for function in (us, eu):
            ending, body = function.runtime.invoke()
            assert ending == "response" and body["written"] >= 0, body
        assert eu.share() + us.share() <= WHOLE
        # A cycle that begins within half a window of the last one does not count what was used.
        time.sleep(3)


def main(weir):
    with tempfile.TemporaryDirectory() as folder, redis() as store_eu, redis() as store_us:
        exchange = f"{folder}/exchange"
        os.mkdir(exchange)
        eu, us = (Function(weir, folder, name, store, exchange) for name, store in (("eu", store_eu), ("us", store_us)))
        try:
            for function in (eu, us):
                function.run("limits", "set", "--resource", "gpt-4", "-l", f"rpm:{WHOLE // 2}/min")
                function.start()
            expect_that_it_moves(eu, us)
            shutil.rmtree(exchange)
            ending, body = eu.runtime.invoke()
            assert ending == "error" and "exchange" in body["errorMessage"], body
            os.mkdir(exchange)
            # The first cycle misses the snapshot that it published, and the next one publishes again.
            endings = [eu.runtime.invoke()[0] for _ in range(2)]
            assert endings[-1] == "response", endings
            eu.config.unlink()
            eu.stop(signal.SIGKILL)
            eu.start()
            path, body = eu.runtime.answers.get(timeout=PATIENCE)
            assert path == "init/error" and "eu.yaml" in body["errorMessage"], (path, body)
            assert eu.process.wait(PATIENCE) != 0
            eu.process = None
        finally:
            eu.stop(signal.SIGKILL)
            us.stop(signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
