#!/usr/bin/env python3
"""Parallel calls through gateways in front of the fake vendor. Never more than fits is in flight, and what is settled is
what the vendor bills, although clients leave, the vendor breaks off, and a gateway is killed.

usage: parallel_test.py WEIR SOURCE_FOLDER memory|sqlite|redis|dynamodb [DISCONNECTS]"""
import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading

weir, source, kind = sys.argv[1:4]
disconnects = int(sys.argv[4]) if len(sys.argv) > 4 else 40
sys.path[:0] = [f"{source}/tests/gateway", f"{source}/examples/llm"]
import fake_vendor  # noqa: E402
import stores  # noqa: E402
from program import Gateway, eventually, expect, report  # noqa: E402

ROUTE = """  - {{path: {path}, name: {name}, upstream: "http://127.0.0.1:{port}", llm: auto, limit_by: "header:x-key",
     on_disconnect: finish, models: {{m: {name}}}, limits: {limits}}}
"""


@contextlib.contextmanager
def store(folder):
    if kind == "redis":
        with stores.redis() as port:
            yield f"redis://127.0.0.1:{port}?deadline_ms=20000"
    elif kind == "dynamodb":
        with stores.dynamodb(weir, source) as port:
            yield stores.dynamodb_url(port)
    else:
        yield "memory:" if kind == "memory" else f"sqlite:{folder}/weir.db"


class Scene:
    """A vendor, and one gateway or two on one store."""

    def __init__(self, folder, url):
        self.folder, self.url = folder, url
        self.vendor = fake_vendor.Vendor(("127.0.0.1", 0))
        threading.Thread(target=self.vendor.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        port = self.vendor.server_address[1]
        self.config = f"listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\nstore: {json.dumps(url)}\non_unavailable: deny\nroutes:\n" + ROUTE.format(
            path="/tight", name="tight", port=port, limits="{rpm: 100000/day, tpm: 100/day}") + ROUTE.format(
            path="/", name="wide", port=port, limits="{rpm: 100000/day, tpm: 1000000/day, usd: 1250000/day, "
            "concurrent: {kind: concurrent, capacity: 1000}}")
        self.gateways, self.again = [], 0
        for _ in range(2 if kind in ("redis", "dynamodb") else 1):
            self.start()

    def start(self):
        folder = pathlib.Path(self.folder, str(len(self.gateways)))
        folder.mkdir(exist_ok=True)
        self.gateways.append(Gateway(weir, folder, self.config))

    def ask(self, path, prompt, leave_after=None, **more):
        """The status, other than 503, after which a client asks again."""
        while (status := self.ask_once(path, prompt, leave_after, **more)) == 503:
            self.again += 1
        return status

    def ask_once(self, path, prompt, leave_after, **more):
        """None: the client left after so many bytes, or the connection broke."""
        gateway = random.choice(self.gateways)
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=600)
        content = {"prompt": prompt} if path.endswith("/v1/completions") else {"messages": [{"role": "user", "content": prompt}]}
        body = json.dumps({"model": "m"} | content | more, separators=(",", ":"))
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("POST", path, body, {"x-key": "customer"})
            answer = connection.getresponse()
            if leave_after is None:
                answer.read()
                return answer.status
            if answer.status == 503:
                return 503
            answer.read(leave_after)
        connection.close()
        return None

    def consumed(self, resource):
        """Whole tokens that the store has counted, once the gateways have ended."""
        done = subprocess.run([weir, "store", "show", "customer", resource, "--store", self.url, "-o", "json"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        buckets = json.loads(done.stdout)["buckets"]
        limits = buckets[0]["limits"]
        limits = limits if isinstance(limits, list) else [{"name": n} | v for n, v in limits.items()]
        return next(float(limit["consumed"]) for limit in limits if limit["name"] == "tpm")

    def billed(self, since=0):
        return sum(call["input"] + call["output"] for call in self.vendor.calls[since:])

    def settled(self, route):
        return sum(gateway.metric(f'weir_llm_tokens_total{{route="{route}",kind="{kind}"}}') or 0
                   for gateway in self.gateways for kind in ("input", "cached_input", "cache_write", "output", "reasoning"))

    def quiet(self, route, since, calls):
        """Waits until so many calls are billed, and settled."""
        return eventually(lambda: len(self.vendor.calls) - since == calls and self.settled(route) == self.billed(since))


def fifty_at_once(scene):
    """50 calls of 20 estimated tokens (57 bytes, and max_tokens) against a limit of 100."""
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: scene.ask("/tight/v1/completions", "count to 4 slowly", max_tokens=5), range(50)))
    admitted = answers.count(200)
    expect(f"only 200 and 429: {set(answers)}", set(answers) <= {200, 429})
    expect(f"5 fit at once: {admitted} admitted", admitted >= 5)
    expect(f"at most 5 at the vendor at once, not {scene.vendor.open_most}", scene.vendor.open_most <= 5)
    expect(f"at most 100 used, not {scene.billed()}", scene.billed() <= 100)
    expect(f"settled {scene.settled('tight')} of {scene.billed()}", scene.quiet("tight", 0, admitted))
    print(f"{kind}: {admitted} of 50 admitted, at most {scene.vendor.open_most} at once, {scene.billed()} tokens of 100, "
          f"{scene.again} asked again")


def leaving_clients(scene):
    """Clients that leave in the middle, and a vendor that breaks off: settled to the token."""
    since = len(scene.vendor.calls)
    random.seed(7)

    def one(number):
        stream = {"stream": True, "max_tokens": 100}
        if number % 5 == 0:
            return scene.ask("/v1/messages", "count to 12 then break", **stream)
        path = random.choice(["/v1/chat/completions", "/v1/messages", "/v1/responses"])
        prompt = f"count to {random.randint(1, 60)} and think"
        if path.endswith("responses"):
            return scene.ask(path, prompt, random.randint(1, 4000), input=prompt, stream=True, max_output_tokens=100)
        return scene.ask(path, prompt, random.randint(1, 4000), **stream)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(disconnects)))
    expect("every call is settled to the token", scene.quiet("wide", since, disconnects))
    print(f"{kind}: {disconnects} calls that ended early, billed {scene.billed(since)}, settled {scene.settled('wide'):.0f}")


def killed_gateway(scene):
    """One gateway is killed with calls in flight. What they held stays charged: never in the client's favour."""
    before = len(scene.vendor.calls)
    wide = scene.settled("wide")
    victim = scene.gateways[0]
    scene.vendor.go_on.clear()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        calls = [pool.submit(scene.ask, "/v1/messages", "count to 20 and wait", stream=True, max_tokens=30) for _ in range(16)]
        expect("calls are in flight", eventually(lambda: scene.vendor.open_now == 16, 500))
        in_flight = scene.vendor.open_now
        victim.process.send_signal(signal.SIGKILL)
        victim.process.wait()
        scene.vendor.go_on.set()
        for call in calls:
            call.result()
    expect("the vendor comes to rest", eventually(lambda: scene.vendor.open_now == 0))
    billed = scene.billed(before)
    for gateway in scene.gateways[1:]:
        gateway.__exit__()
    consumed = scene.consumed("wide") - wide
    hold = 30 + 40  # max_tokens, and a body of at most 160 bytes
    expect(f"charged {consumed}, billed {billed}: in the client's favour", consumed >= billed)
    expect(f"charged {consumed}, billed {billed}: more than {in_flight} calls in flight", consumed <= billed + 16 * hold)
    print(f"{kind}: killed with {in_flight} calls in flight: billed {billed}, charged {consumed:.0f}")


def main():
    with tempfile.TemporaryDirectory() as folder, store(folder) as url:
        scene = Scene(folder, url)
        try:
            fifty_at_once(scene)
            leaving_clients(scene)
            if kind != "memory":
                killed_gateway(scene)
        finally:
            for gateway in scene.gateways:
                gateway.__exit__()
            scene.vendor.shutdown()
            scene.vendor.server_close()
    return report(f"parallel calls on {kind}")


sys.exit(main())
