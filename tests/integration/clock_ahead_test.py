#!/usr/bin/env python3
"""What the programs say of a file that was written while the clock was ahead.

    clock_ahead_test.py WEIR
"""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

AHEAD = 104 * 86_400_000 + 3_600_000
wrong = []


def expect(what, condition):
    if not condition:
        wrong.append(what)


def run(weir, *words):
    ended = subprocess.run([weir, *words], capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stdout, ended.stderr


def move_ahead(path):
    """As if everything had been written under a clock that was ahead."""
    with sqlite3.connect(path) as file:
        file.execute("UPDATE buckets SET refilled_at_ms = refilled_at_ms + ?, expires_at_ms = expires_at_ms + ?",
                     (AHEAD, AHEAD))
        file.execute("UPDATE limits SET stamp = stamp + ?", (AHEAD,))
        file.execute("UPDATE buckets SET version = version + ?", (AHEAD,))
        file.execute("UPDATE settings SET value = value + ? WHERE name = 'written_at_ms'", (AHEAD,))
    file.close()


class Program:
    """`weir serve` or `weir gateway`, and its log."""

    def __init__(self, words, where):
        self.process = subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = re.search(where + r"(http://[^ ,;\n]+)", self.process.stdout.readline())[1]
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def hears(self, text):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not self.count(text):
            time.sleep(0.05)
        return self.count(text) > 0

    def count(self, text):
        return sum(text in line for line in list(self.log))

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read().decode()

    def end(self):
        self.process.terminate()
        self.process.wait(60)
        self.reader.join(60)


def acquire(url):
    request = urllib.request.Request(url + "/v1/acquire", method="POST", data=json.dumps(
        {"entity": "key", "resource": "r", "consume": {"rpm": 1}}).encode())
    try:
        return urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as refused:
        return refused.code


def the_command_line(weir, path):
    store = ("--store", "sqlite:" + path)
    code, out, _ = run(weir, "store", "check", *store)
    expect(f"check ended with {code}: {out}", code == 0 and "warning  clock" in out and "104 days ahead" in out)
    code, _, err = run(weir, "acquire", "key", "r", "-c", "rpm=1", *store)
    expect(f"acquire ended with {code}: {err}", code == 3 and "weir: warning:" in err and "104 days ahead" in err)
    code, out, err = run(weir, "store", "check", *store)
    expect(f"after the repair: {out} {err}", "warning  clock  " not in out)
    code, _, err = run(weir, "acquire", "key", "r", "-c", "rpm=1", *store)
    expect(f"told again: {err}", "warning" not in err)


def the_service(weir, path):
    service = Program([weir, "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + path], "listens on ")
    expect("the log does not say it at the start", service.hears("104 days ahead"))
    expect("it is refused", acquire(service.url) == 429)
    expect("the log does not tell of the repair", service.hears("the clock was set back"))
    expect("the metrics do not count it", "weir_store_clock_repairs_total 1\n" in service.get("/metrics"))
    acquire(service.url)
    service.end()
    expect(f"not told once: {service.log}",
           service.count("the clock was set back") == 1 and service.count("104 days ahead of this") == 1)


def the_gateway(weir, path, folder):
    config = os.path.join(folder, "gateway.yaml")
    pathlib.Path(config).write_text(
        f"listen: 127.0.0.1:0\nstore: 'sqlite:{path}'\nroutes:\n"
        "  - path: /\n    upstream: http://127.0.0.1:9\n    limit_by: client_ip\n    limits: {rpm: 1/min}\n")
    gateway = Program([weir, "gateway", "--config", config], "listens on ")
    expect("the gateway's log does not say it", gateway.hears("104 days ahead"))
    gateway.end()


def main(weir):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weir.db")
        store = ("--store", "sqlite:" + path)
        for words in (("limits", "set", "--system", "-l", "rpm:2/day"), ("acquire", "key", "r", "-c", "rpm=2")):
            code, out, err = run(weir, *words, *store)
            expect(f"{words} ended with {code}: {out} {err}", code == 0)
        move_ahead(path)
        the_command_line(weir, path)
        move_ahead(path)
        the_service(weir, path)
        move_ahead(path)
        the_gateway(weir, path, folder)
    for what in wrong:
        print("clock_ahead:", what)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
