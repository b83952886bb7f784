#!/usr/bin/env python3
"""The examples for proxies: each is run, on free ports, in front of a server and beside weir.

    examples_test.py WEIR REPOSITORY nginx|caddy|traefik|gateway|llm

Traefik is not in Debian: of its files it is checked that they are what they should be, and that the question which
they have it ask is answered as it needs.
"""
import base64
import contextlib
import hashlib
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import yaml

from program import Gateway, eventually, expect, report, upstream


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path="/", headers={}, method="GET", body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers, body=body)
    answer = connection.getresponse()
    answer.text = answer.read().decode()
    return answer


def there(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    return False


@contextlib.contextmanager
def running(*command, cwd):
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=open(pathlib.Path(cwd, "errors"), "w"))
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextlib.contextmanager
def service(weir, folder):
    """`weir serve` with three requests a minute for everybody on the resource api; yields its port."""
    process = subprocess.Popen([weir, "serve", "--listen", "127.0.0.1:0", "--store", "memory:"], cwd=folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    port = int(re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())[1])
    subprocess.run([weir, "limits", "set", "--resource", "api", "-l", "rpm:3/min", "--server", f"http://127.0.0.1:{port}"],
                   check=True, capture_output=True)
    try:
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def placed(folder, source, ports):
    """The example, with its ports replaced by free ones."""
    text = source.read_text()
    for port, instead in ports.items():
        expect(f"{source.name} has no port {port}", f":{port}" in text)
        text = text.replace(f":{port}", f":{instead}")
    target = pathlib.Path(folder, source.name)
    target.write_text(text)
    return target


def limits_by_weir(port, retry=True):
    passed = get(port, "/a")
    expect(f"the first passes: {passed.status} {passed.text}", passed.status == 200 and passed.text == "upstream /a\n")
    posted = get(port, "/b", method="POST", body=b"12345")
    expect(f"a body passes: {posted.status} {posted.text}", posted.status == 200 and posted.text == "5")
    expect("the third passes", get(port, "/c", {"Weir-Entity": "somebody-else"}).status == 200)
    refused = get(port, "/d", {"Weir-Entity": "somebody-else"})
    expect(f"the fourth is refused, whatever it calls itself: {refused.status}", refused.status == 429)
    expect(f"and told when to come back: {refused.headers}", 1 <= int(refused.headers["Retry-After"]) <= 20)
    expect(f"and what holds: {refused.headers}", refused.headers["RateLimit-Policy"] == '"rpm";q=3;w=60')
    return passed


def nginx(weir, repository, folder):
    port = free_port()
    pathlib.Path(folder, "tmp").mkdir()
    with upstream() as (api, _), service(weir, folder) as (deciding, process):
        config = placed(folder, repository / "examples/nginx/nginx.conf", {8000: port, 8080: deciding, 9000: api})
        with running("nginx", "-p", folder, "-c", str(config), cwd=folder):
            expect("nginx listens", eventually(lambda: there(port)))
            passed = limits_by_weir(port)
            expect(f"answers say what is left: {passed.headers}", passed.headers["RateLimit"] == '"rpm";r=2;t=0')
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            degraded = get(port, "/e")
            expect(f"without weir requests pass: {degraded.status}", degraded.status == 200)
            expect("and say so", degraded.headers["Weir-Degraded"] == "true")


def caddy(weir, repository, folder):
    port = free_port()
    with upstream() as (api, _), service(weir, folder) as (deciding, _):
        config = placed(folder, repository / "examples/caddy/Caddyfile", {8000: port, 8080: deciding, 9000: api})
        with running("caddy", "run", "--config", str(config), "--adapter", "caddyfile", cwd=folder):
            expect("Caddy listens", eventually(lambda: there(port)))
            limits_by_weir(port)


def traefik(weir, repository, folder):
    static = yaml.safe_load((repository / "examples/traefik/traefik.yaml").read_text())
    expect("the file that it names is there", (repository / "examples/traefik" / static["providers"]["file"]["filename"]).exists())
    dynamic = yaml.safe_load((repository / "examples/traefik/dynamic.yaml").read_text())["http"]
    router = dynamic["routers"]["api"]
    expect("its entry point is there", set(router["entryPoints"]) <= set(static["entryPoints"]))
    expect("its middlewares are there", set(router["middlewares"]) <= set(dynamic["middlewares"]))
    expect("its service is there", router["service"] in dynamic["services"])
    expect("users are known before weir is asked", router["middlewares"].index("users") < router["middlewares"].index("weir"))
    users, asks = dynamic["middlewares"]["users"]["basicAuth"], dynamic["middlewares"]["weir"]["forwardAuth"]
    expect("the user is the entity", users["headerField"] in asks["authRequestHeaders"])
    name, hashed = users["users"][0].split(":", 1)
    salt = hashed.split("$")[2]
    made = subprocess.run(["openssl", "passwd", "-apr1", "-salt", salt, "secret"], capture_output=True, text=True, check=True)
    expect("the password is the one that it says", made.stdout.strip() == hashed)
    with service(weir, folder) as (deciding, _):
        target = asks["address"].removeprefix("http://127.0.0.1:8080")
        expect("it asks weir", target.startswith("/v1/authorize?"))
        # What Traefik sends along.
        fields = {"Weir-Entity": name, "X-Forwarded-Method": "GET", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "a",
                  "X-Forwarded-Uri": "/", "X-Forwarded-For": "127.0.0.1"}
        statuses = [get(deciding, target, fields).status for _ in range(4)]
        expect(f"weir answers as it needs: {statuses}", statuses == [200, 200, 200, 429])


def gateway(weir, repository, folder):
    checked = subprocess.run([weir, "gateway", "--config", str(repository / "examples/gateway/gateway.yaml"), "--check"],
                             capture_output=True, text=True)
    expect(f"the example is sound: {checked}", checked.returncode == 0)
    with upstream() as (one, _), upstream() as (two, _):
        config = placed(folder, repository / "examples/gateway/gateway.yaml", {8000: 0, 8001: 0, 9000: one, 9001: two})
        with Gateway(weir, folder, config.read_text()) as started:
            statuses = [started.get("/api/login").status for _ in range(6)]
            expect(f"five logins a minute: {statuses}", statuses == [200] * 5 + [429])
            expect("the API", started.get("/api/x", {"X-Api-Key": "k"}).headers["RateLimit"] == '"rpd";r=9999;t=0, "rps";r=9;t=0')
            expect("the page", started.get("/").status == 200)


def llm(weir, repository, folder):
    sys.path.insert(0, str(repository / "examples/llm"))
    import fake_vendor
    vendor = fake_vendor.Vendor(("127.0.0.1", 0), key="vendor-secret")
    threading.Thread(target=vendor.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    config = placed(folder, repository / "examples/llm/gateway.yaml", {8080: 0, 8081: 0, 9100: vendor.server_address[1]})
    text = config.read_text().replace("examples/llm/prices.yaml", str(repository / "examples/llm/prices.yaml"))
    with Gateway(weir, folder, text, environment={"VENDOR_KEY": "vendor-secret"}) as started:
        def ask(model):
            body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "count to 7"}]}
            return get(started.port, "/v1/chat/completions", {"Authorization": "Bearer customer-1"}, method="POST",
                       body=json.dumps(body).encode())
        passed = ask("gpt-4o-2024-11-20")
        expect(f"a stream passes: {passed.status} {passed.text}", passed.status == 200 and passed.text.endswith("data: [DONE]\n\n"))
        expect("with what is left", passed.headers["x-ratelimit-limit-requests"] == "60")
        expect("another model is not offered", ask("gpt-9").status == 404)
    shown = subprocess.run([weir, "store", "show", "h:" + hashlib.sha256(b"customer-1").hexdigest(), "gpt-4o", "-o", "json",
                            "--store", f"sqlite:{folder}/weir.db"], capture_output=True, text=True)
    limits = {limit["name"]: limit["consumed"] for limit in json.loads(shown.stdout)["buckets"][0]["limits"]}
    expect(f"settled to the token, and to the millionth: {limits}",
           (limits["rpm"], limits["tpm"], limits["usd"]) == (1, 10, 3 * 2.5 + 7 * 10))
    vendor.shutdown()
    vendor.server_close()


def main(weir, repository, example):
    with tempfile.TemporaryDirectory() as folder:
        {"nginx": nginx, "caddy": caddy, "traefik": traefik, "gateway": gateway, "llm": llm}[example](weir, repository, folder)
    return report(example)


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]))
