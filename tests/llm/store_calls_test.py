#!/usr/bin/env python3
"""What one call costs at the store: one decision and one settle, whatever its limits and its chain.

A call is charged by rpm, tpm, usd (a limit of 1.25 million millionths) and concurrent together, or by the first three.
Each call is sent once the one before is settled, to buckets that exist and that the gateway knows, and ends within its hold.

usage: store_calls_test.py WEIR SOURCE_FOLDER redis|dynamodb"""
import collections
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import typing

weir, source, kind = sys.argv[1:4]
sys.path[:0] = [f"{source}/tests/gateway", f"{source}/examples/llm"]
import fake_vendor  # noqa: E402
import store_calls  # noqa: E402
import stores  # noqa: E402
from program import Gateway, eventually, expect, report  # noqa: E402

CONFIG = """
listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
store: {store}
on_unavailable: deny
decision_log: {{mode: all, lines: decisions}}
routes:
"""
ROUTE = """  - {{path: /{name}, name: {name}, upstream: "http://127.0.0.1:{port}", llm: auto, limit_by: "header:x-key",
     models: {{m: {name}}}, prices: prices.yaml, limits: {limits}}}
"""
PRICES = "models: {m: {input: 0, output: 1000}}\n"  # a token of output is 1,000 millionths
RATES = {"rpm": "600/min", "tpm": "100000/min", "usd": "1250000/day"}
# By route, which is also the resource.
LIMITS = {"rates": RATES, "all": RATES | {"concurrent": "10:concurrent"}}
warm_calls, counted_calls = 2, 3


class Shape(typing.NamedTuple):
    name: str
    route: str
    chain: list  # entities, from the one that calls upward
    own: bool  # every entity has limits of its own; otherwise the route's hold

    def is_paid_by(self, requests):
        """Whether these are one decision and one settle."""
        if kind == "redis":
            return len(requests) == 2 and all(name.startswith("evalsha ") for name in requests)
        return requests == ("UpdateItem" if len(self.chain) == 1 else "TransactWriteItems", "TransactWriteItems")


def shapes():
    for route, which in (("all", "all four limits"), ("rates", "rate limits only")):
        yield Shape(f"a bucket with {which} of the route", route, [f"{route}-lone"], False)
        yield Shape(f"a bucket with {which} of its own", route, [f"{route}-own"], True)
        chain = [f"{route}-key", f"{route}-project", f"{route}-organisation"]
        yield Shape(f"a chain of three with {which}", route, chain, True)


@contextlib.contextmanager
def store():
    """Yields the URL for commands, the one for the gateway, and what counts between the two."""
    if kind == "redis":
        with stores.redis() as port:
            url = f"redis://127.0.0.1:{port}?deadline_ms=20000&cache_ms=3600000"
            with contextlib.closing(store_calls.RedisWatch(port, source)) as watch:
                yield url, url, watch
    else:
        with stores.dynamodb(weir, source) as port, contextlib.closing(store_calls.DynamoProxy(port)) as proxy:
            yield stores.dynamodb_url(port), stores.dynamodb_url(proxy.server_address[1], "&cache_ms=3600000"), proxy


class Scene:
    def __init__(self, folder, urls, watch):
        self.url, gateway_url = urls
        self.watch = watch
        self.calls = 0
        self.vendor = fake_vendor.Vendor(("127.0.0.1", 0))
        threading.Thread(target=self.vendor.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        pathlib.Path(folder, "prices.yaml").write_text(PRICES)
        for shape in shapes():
            self.describe(shape)
        self.lines = pathlib.Path(folder, "decisions")
        config = CONFIG.format(store=json.dumps(gateway_url))
        for name, limits in LIMITS.items():
            config += ROUTE.format(name=name, port=self.vendor.server_address[1], limits=json.dumps(limits))
        self.gateway = Gateway(weir, folder, config)

    def close(self):
        self.gateway.__exit__()
        self.vendor.shutdown()
        self.vendor.server_close()

    def run(self, *arguments):
        done = subprocess.run([weir, *arguments, "--store", self.url], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def describe(self, shape):
        for entity, parent in zip(shape.chain, shape.chain[1:]):
            self.run("entity", "create", entity, "--parent", parent, "--cascade")
        limits = [word for name, limit in LIMITS[shape.route].items() for word in ("-l", f"{name}:{limit}")]
        for entity in shape.chain if shape.own else []:
            self.run("limits", "set", "--entity", entity, "--resource", shape.route, *limits)

    def logged(self):
        """How often each kind of decision and change of a lease has ended."""
        whole = self.lines.read_text().rpartition("\n")[0] if self.lines.exists() else ""
        return collections.Counter(json.loads(line)["kind"] for line in whole.splitlines())

    def call(self, shape, stream):
        """Returns once the call is settled. False: its lease was extended meanwhile, which is a request of its own."""
        before = self.logged()
        connection = self.gateway.connect()
        body = {"model": "m", "max_tokens": 100, "stream": stream, "messages": [{"role": "user", "content": "count to 7"}]}
        connection.request("POST", f"/{shape.route}/v1/chat/completions", json.dumps(body), {"x-key": shape.chain[0]})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status == 200, (answer.status, text)
        self.calls += 1
        assert eventually(lambda: self.logged()["settle"] > before["settle"], 300), f"a call of {shape.name} is not settled"
        return self.logged()["extend"] == before["extend"]

    def consumed(self, entity, resource, limit):
        buckets = json.loads(self.run("store", "show", entity, resource, "-o", "json"))["buckets"]
        return next(float(one["consumed"]) for one in buckets[0]["limits"] if one["name"] == limit)


def of_call(commands, chain):
    """The names of those that concern an entity of the chain, and of the others."""
    own, others = [], []
    for name, words in commands:
        text = " ".join(words)
        (own if any(entity in text for entity in chain) else others).append(name)
    return own, others


def counted(scene, shape, stream):
    """The requests of one call, and what other requests there were."""
    while True:
        scene.watch.take()
        undisturbed = scene.call(shape, stream)
        own, others = of_call(scene.watch.take(), shape.chain)
        if undisturbed:
            return tuple(own), others


def one_decision_and_one_settle(scene, shape):
    before = scene.calls
    for stream in (False, True):
        for _ in range(warm_calls):
            scene.call(shape, stream)
        calls = [counted(scene, shape, stream) for _ in range(counted_calls)]
        what = f"{kind}, {shape.name}, {'streamed' if stream else 'plain'}"
        for requests, times in collections.Counter(own for own, _ in calls).items():
            print(f"{what}: {times} of {counted_calls} calls: {len(requests)} requests: {', '.join(requests)}", flush=True)
        others = collections.Counter(name for _, names in calls for name in names)
        if others:
            print(f"{what}: in the background: {dict(others)}", flush=True)
        expect(f"{what}: each call is one decision and one settle", all(shape.is_paid_by(own) for own, _ in calls))
    for entity in shape.chain:
        used, charged = (scene.calls - before) * 7 * 1000, scene.consumed(entity, shape.route, "usd")
        expect(f"{entity} is charged {charged} and has used {used}", charged == used)


def main():
    with tempfile.TemporaryDirectory() as folder, store() as (url, gateway_url, watch):
        scene = Scene(folder, (url, gateway_url), watch)
        try:
            for shape in shapes():
                one_decision_and_one_settle(scene, shape)
        finally:
            scene.close()
    return report(f"calls to the store on {kind}")


sys.exit(main())
