#!/usr/bin/env python3
"""Two gateways on one Redis: one client, one limit, exactly; also while Redis restarts.

    gateway_test.py WEIR exact|restart|without|unknown
"""
import contextlib
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "gateway"))
from program import Gateway, eventually, expect, report, upstream

clients = 8


class Redis:
    """A server that keeps every write that it has acknowledged."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", "",
             "--appendonly", "yes", "--appendfsync", "always"], stdout=subprocess.DEVNULL)
        expect("redis-server starts", eventually(lambda: self.ask("PING") == "+PONG"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, line):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(line.encode() + b"\r\n")
            return connection.recv(1000).decode().split("\r\n")[0]
        return ""


class Crowd:
    """Clients of one name, half of them at each gateway, until `enough` of them have been refused."""

    def __init__(self, gateways, enough):
        self.lock = threading.Lock()
        self.seen = {"passed": 0, "refused": 0, "degraded": 0, "unknown": 0}
        self.enough = enough
        self.calm = threading.Event()
        self.threads = [threading.Thread(target=self.go, args=(gateways[i % 2],)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def go(self, gateway):
        connection = gateway.connect()
        while not self.calm.is_set():
            answer = gateway.get("/", {"X-Api-Key": "k"}, connection)
            unknown = answer.status == 503 and "outcome-unknown" in answer.text
            if answer.status not in (200, 429) and not unknown:
                expect(f"an answer {answer.status}: {answer.text}", False)
                return
            degraded = answer.headers["Weir-Degraded"] == "true"
            kind = ("unknown" if unknown else "refused" if answer.status == 429 else
                    "degraded" if degraded else "passed")
            with self.lock:
                self.seen[kind] += 1
                if self.seen["refused"] >= self.enough:
                    self.calm.set()

    def count(self, kind):
        with self.lock:
            return self.seen[kind]

    def wait(self):
        for thread in self.threads:
            thread.join()
        return self.seen


@contextlib.contextmanager
def two_gateways(weir, folder, redis, limit):
    with upstream() as (port, _), contextlib.ExitStack() as stack:
        gateways = []
        for name in ("a", "b"):
            own = pathlib.Path(folder, name)
            own.mkdir()
            gateways.append(stack.enter_context(Gateway(weir, own, f"""
listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
store: redis://127.0.0.1:{redis.port}?deadline_ms=5000
on_unavailable: allow
max_new_clients_per_address: 3
routes:
  - {{name: r, path: /, upstream: "http://127.0.0.1:{port}", limit_by: "header:X-Api-Key", limits: {{yearly: {limit}}}}}
  - {{name: s, path: /share, upstream: "http://127.0.0.1:{port}", limit_by: "header:X-Api-Key", limits: {{yearly: {limit}}},
     unknown_clients: share}}
  - {{name: n, path: /none, upstream: "http://127.0.0.1:{port}", limit_by: "header:X-Api-Key", limits: {{yearly: {limit}}},
     unknown_clients: refuse}}
""")))
        yield gateways


def counted(gateways, outcome):
    """What the gateways themselves have counted."""
    pattern = rf'^weir_decisions_total{{[^}}]*outcome="{outcome}"[^}}]*}} (\S+)$'
    return sum(float(value) for gateway in gateways
               for value in re.findall(pattern, gateway.admin("/metrics")[1], re.MULTILINE))


def consumed(weir, redis):
    done = subprocess.run([weir, "store", "show", "--store", f"redis://127.0.0.1:{redis.port}", "k", "r", "-o", "json"],
                          capture_output=True, text=True)
    found = re.search(r'"consumed": ?"?(\d+)', done.stdout)
    return int(found[1]) if found else done.stdout + done.stderr


def exact(weir, folder, redis):
    redis.start()
    # The next comes back in hours.
    with two_gateways(weir, folder, redis, "500/365d") as gateways:
        seen = Crowd(gateways, 100).wait()
        expect(f"500 pass: {seen}", seen["passed"] == 500 and seen["degraded"] == 0)
        expect("500 are counted", consumed(weir, redis) == 500)
        expect("and by the gateways", counted(gateways, "admitted") == 500 and counted(gateways, "degraded") == 0)


def restart(weir, folder, redis):
    redis.start()
    restarts = 3
    with two_gateways(weir, folder, redis, "2000/365d") as gateways:
        crowd = Crowd(gateways, 100)
        for i in range(restarts):
            expect("they pass", eventually(lambda: crowd.count("passed") > 400 * (i + 1)))
            redis.kill()
            before = crowd.count("degraded")
            expect("they pass without Redis", eventually(lambda: crowd.count("degraded") > before + 20))
            redis.start()
            before = crowd.count("passed")
            expect("they are held again", eventually(lambda: crowd.count("passed") > before))
        seen = crowd.wait()
        print(seen)
        expect("all of the allowance is used", consumed(weir, redis) == 2000)
        # A charge whose answer was lost is an error: at the most one of each client in each restart.
        expect(f"2000 pass: {seen}", 2000 - seen["unknown"] <= seen["passed"] <= 2000)
        expect(f"few are unknown: {seen}", seen["unknown"] <= clients * restarts)
        expect(f"they are counted as errors: {seen}", counted(gateways, "error") == seen["unknown"])
        expect(f"all others are counted as degraded: {seen}", counted(gateways, "degraded") == seen["degraded"])
        expect("it is said once for each change",
               all(gateway.logged().count("the store is back") == restarts for gateway in gateways))


def without(weir, folder, redis):
    with two_gateways(weir, folder, redis, "3/365d") as gateways:
        answer = gateways[0].get("/", {"X-Api-Key": "k"})
        expect(f"it starts without Redis: {answer.status}", answer.status == 200 and answer.headers["Weir-Degraded"] == "true")
        expect("it is ready", gateways[0].admin("/readyz") == (200, "ready, but the store is unavailable\n"))
        redis.start()
        seen = Crowd(gateways, 10).wait()
        expect(f"3 pass when it is there: {seen}", seen["passed"] == 3 and consumed(weir, redis) == 3)


def unknown(weir, folder, redis):
    """Clients that Redis does not know, at both gateways, new and again; the known ones are made by another process."""
    redis.start()
    store = f"redis://127.0.0.1:{redis.port}"
    for command in (["entity", "create", "known"], ["limits", "set", "--entity", "limited", "-l", "yearly:2/365d"],
                    ["limits", "set", "--entity", "here", "--resource", "s", "-l", "yearly:2/365d"]):
        done = subprocess.run([weir, *command, "--store", store], capture_output=True, text=True)
        expect(f"weir {command}: {done.stderr}", done.returncode == 0)
    with two_gateways(weir, folder, redis, "2/365d") as gateways:
        def passed(path, keys):
            statuses = [gateway.get(path, {"X-Api-Key": key}).status for key in keys for gateway in gateways * 2]
            return statuses.count(200), statuses.count(429), statuses.count(403)
        invented = [f"invented-{n}" for n in range(10)]
        expect("unknown clients share two requests", passed("/share", invented) == (2, 38, 0))
        expect("known ones have two each", passed("/share", ["known", "limited", "here"]) == (6, 6, 0))
        expect("unknown clients are refused", passed("/none", ["invented", "here"]) == (0, 0, 8))
        expect("known ones are not", passed("/none", ["known", "limited"]) == (4, 4, 0))
        # Each gateway gives buckets of their own to three clients of an address; six if none is known to both.
        admitted = passed("/", invented)[0]
        expect(f"a flood of keys ends in the bucket of the address: {admitted}", 3 * 2 <= admitted <= 6 * 2 + 2)


def main():
    weir, what = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        redis = Redis(folder)
        try:
            {"exact": exact, "restart": restart, "without": without, "unknown": unknown}[what](weir, folder, redis)
        finally:
            if redis.process:
                redis.kill()
    return report(f"two gateways, {what}")


sys.exit(main())
