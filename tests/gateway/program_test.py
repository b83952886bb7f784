#!/usr/bin/env python3
"""The program `weir gateway`: its file, its life, its ports, its logs.

    program_test.py WEIR
"""
import hashlib
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

from program import Gateway, certificate, eventually, expect, report, upstream


def says_what_is_wrong_with_its_file(weir, folder):
    path = pathlib.Path(folder, "checked.yaml")

    def check(text):
        path.write_text(text)
        done = subprocess.run([weir, "gateway", "--config", path.name, "--check"], cwd=folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    code, said = check('routes:\n  - {path: /, upstream: "http://127.0.0.1:1", limts: {rpm: 1}}\n')
    expect(f"a bad file: {code} {said}", code == 2 and "checked.yaml:2:" in said and 'did you mean "limits"?' in said)
    code, said = check('routes:\n  - {path: /, upstream: "http://127.0.0.1:1"}\n')
    expect(f"a good file: {code} {said}", code == 0 and said == "checked.yaml: 1 route, nothing to fix\n")
    code, said = check('store: nonsense\nroutes:\n  - {path: /, upstream: "http://127.0.0.1:1"}\n')
    expect(f"a bad store: {code} {said}", code == 2 and "store" in said)
    code, said = check('tls: {cert: none.pem, key: none.pem}\nroutes:\n  - {path: /, upstream: "http://127.0.0.1:1"}\n')
    expect(f"no certificate: {code} {said}", code != 0 and "none.pem" in said)
    done = subprocess.run([weir, "gateway", "--config", "missing.yaml"], cwd=folder, capture_output=True, text=True)
    expect(f"a missing file: {done}", done.returncode == 2 and "missing.yaml" in done.stderr)


def says_what_a_user_of_its_store_can_do(weir, folder):
    with upstream() as (port, _):
        config = f"""
listen: 127.0.0.1:0
store: sqlite:held.db
routes:
  - {{path: /, upstream: "http://127.0.0.1:{port}", limits: {{rpm: 2}}}}
"""
        with Gateway(weir, folder, config) as gateway:
            done = subprocess.run([weir, "limits", "list", "--store", "sqlite:held.db"], cwd=folder, capture_output=True, text=True)
            expect(f"a held file: {done}", done.returncode == 1 and f"(process {gateway.process.pid}), a gateway at http" in done.stderr
                   and "Stop that one first" in done.stderr and "set admin_listen" in done.stderr and "--server" not in done.stderr)
            path = pathlib.Path(folder, "second.yaml")
            path.write_text(config.replace("listen: 127.0.0.1:0", f"listen: 127.0.0.1:{gateway.port}").replace("sqlite:held.db", "memory"))
            done = subprocess.run([weir, "gateway", "--config", path.name], cwd=folder, capture_output=True, text=True)
            expect(f"a port in use: {done}", done.returncode == 1 and "already in use; change listen in the file" in done.stderr)


def is_administered_while_it_runs(weir, folder):
    token = "secret-of-alice"
    digest = hashlib.sha256(token.encode()).hexdigest()
    pathlib.Path(folder, "tokens").write_text(f"alice admin sha256:{digest}\n")

    def run(gateway, *arguments, **environment):
        command = [weir, *arguments, "--server", gateway.admin_url()]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})

    with upstream() as (port, _):
        def config(store, more=""):
            return (f"listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\nstore: {store}\n{more}routes:\n"
                    f'  - {{path: /, name: all, upstream: "http://127.0.0.1:{port}", limit_by: header:X-Key, limits: {{rpm: 5}}}}\n')
        for store in "memory", "sqlite:administered.db":
            with Gateway(weir, folder, config(store)) as gateway:
                expect(gateway.greeting, "health, metrics and API on http://127.0.0.1:" in gateway.greeting)
                expect("before", gateway.get("/", {"X-Key": "key-9"}).status == 200)
                done = run(gateway, "limits", "set", "--entity", "key-9", "-l", "rpm:0/min")
                expect(f"limits are set: {done}", done.returncode == 0)
                expect("they hold at once", gateway.get("/", {"X-Key": "key-9"}).status == 429)
                expect("for this client", gateway.get("/", {"X-Key": "key-3"}).status == 200)
                done = run(gateway, "limits", "list", "-o", "json")
                expect(f"limits are listed: {done}", done.returncode == 0 and "key-9" in done.stdout)
                expect("health as before", gateway.admin("/readyz") == (200, "ready\n"))
                expect("metrics as before", gateway.metric("weir_store_up") == 1)
                if store != "memory":
                    held = subprocess.run([weir, "limits", "list", "--store", store], cwd=folder, capture_output=True, text=True)
                    expect(f"a held file: {held}", held.returncode == 1 and f"(weir --server {gateway.admin_url()} reaches it)" in held.stderr)
        with Gateway(weir, folder, config("memory", "admin_tokens: tokens\n")) as gateway:
            done = run(gateway, "limits", "list")
            expect(f"it asks for a token: {done}", done.returncode == 1 and "asks for a token" in done.stderr)
            expect("not for its health", gateway.admin("/livez") == (200, "ok\n"))
            expect("a token works", run(gateway, "limits", "list", WEIR_TOKEN=token).returncode == 0)
        path = pathlib.Path(folder, "checked.yaml")
        path.write_text(config("memory").replace("admin_listen: 127.0.0.1", "admin_listen: 0.0.0.0"))
        for more in ["--check"], []:
            done = subprocess.run([weir, "gateway", "--config", path.name, *more], cwd=folder, capture_output=True, text=True)
            expect(f"beyond this machine: {done}", done.returncode != 0 and "no tokens are asked for; set admin_tokens" in done.stderr)
        with Gateway(weir, folder, config("memory", "namespace: tenant\n")) as gateway:
            for status in [200] * 5 + [429]:
                refused = gateway.get("/", {"X-Key": "key-9"})
                expect("in its namespace", refused.status == status)
            done = run(gateway, "explain", refused.headers["Weir-Decision"])
            expect(f"its namespace is the usual one: {done}", done.returncode == 0 and "namespace tenant" in done.stdout)
            done = run(gateway, "explain", refused.headers["Weir-Decision"], "--namespace", "default")
            expect(f"another one: {done}", done.returncode == 1 and "say --namespace tenant" in done.stderr)
        path.write_text(config("memory", "admin_tokens: missing\n"))
        for more in ["--check"], []:
            done = subprocess.run([weir, "gateway", "--config", path.name, *more], cwd=folder, capture_output=True, text=True)
            expect(f"no tokens: {done}", done.returncode != 0 and "admin_tokens: " in done.stderr and "missing" in done.stderr)


def tells_of_its_health_and_counts(weir, folder):
    with upstream() as (port, _):
        config = f"""
listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
store: memory
access_log: access.log
trusted_proxies: [127.0.0.1]
routes:
  - {{path: /api, upstream: "http://127.0.0.1:{port}", limits: {{rpm: 2}}}}
  - {{path: /down, upstream: "http://127.0.0.1:1", limits: {{rpm: 2}}}}
"""
        with Gateway(weir, folder, config) as gateway:
            statuses = [gateway.get("/api", {"X-Forwarded-For": "198.51.100.9"}).status for _ in range(3)]
            expect(f"statuses {statuses}", statuses == [200, 200, 429])
            expect("a bad gateway", gateway.get("/down").status == 502)
            expect("no route", gateway.get("/nowhere").status == 404)
            expect("it is alive", gateway.admin("/livez") == (200, "ok\n"))
            expect("it is ready", gateway.admin("/readyz") == (200, "ready\n"))
            expect("nothing else is there", gateway.admin("/")[0] == 404)
            for line, value in {
                    'weir_gateway_requests_total{route="/api",status="2xx"}': 2,
                    'weir_gateway_requests_total{route="/api",status="4xx"}': 1,
                    'weir_gateway_requests_total{route="/down",status="5xx"}': 1,
                    'weir_gateway_requests_total{route="",status="4xx"}': 1,
                    'weir_decisions_total{namespace="default",resource="/api",outcome="admitted"}': 2,
                    'weir_decisions_total{namespace="default",resource="/api",outcome="refused"}': 1,
                    'weir_gateway_upstream_duration_seconds_count{route="/api"}': 2,
                    "weir_store_up": 1}.items():
                expect(f"{line} is {gateway.metric(line)}, not {value}", gateway.metric(line) == value)
            errors = gateway.metric('weir_gateway_upstream_errors_total{route="/down",error="unreachable"}')
            expect(f"errors {errors}", errors and errors >= 1)
        log = pathlib.Path(folder, "access.log").read_text()
        expect(f"access log {log}", re.search(
            rf"method=GET path=/api status=200 .*client=198.51.100.9 route=/api upstream=http://127.0.0.1:{port}", log))
        expect(f"access log {log}", len(log.splitlines()) == 5)
        expect("it ended well", gateway.process.returncode == 0)


def reads_its_file_again_without_dropping_anybody(weir, folder):
    with upstream("one") as (first, slow), upstream("two") as (second, _):
        def config(port, more=""):
            return (f"listen: 127.0.0.1:0\nstore: memory\nroutes:\n"
                    f'  - {{path: /, name: all, upstream: "http://127.0.0.1:{port}", limits: {{rpm: 5}}{more}}}\n')
        with Gateway(weir, folder, config(first)) as gateway:
            kept = gateway.connect()
            expect("before", gateway.get("/a", connection=kept).text == "one /a\n")
            waiting = {}
            thread = threading.Thread(target=lambda: waiting.update(answer=gateway.get("/slow").text))
            thread.start()
            expect("the slow request arrives", slow.begun.wait(60))
            expect("the file is read", gateway.reload(config(second), "read the gateway's file again"))
            expect("the same connection takes the new route", gateway.get("/b", connection=kept).text == "two /b\n")
            expect("a bad file is named", gateway.reload("routes: [{}]\n", "the old one stays"))
            expect("and changes nothing", gateway.get("/c", connection=kept).text == "two /c\n")
            expect("what needs a restart is said", gateway.reload(
                config(second).replace("127.0.0.1:0", "127.0.0.1:1"), "needs a restart"))
            slow.go_on.set()
            thread.join()
            expect(f"a request under way ends where it began: {waiting}", waiting.get("answer") == "one /slow\n")
            expect("limits go on counting", gateway.get("/d", connection=kept).status == 200)
            expect("as they were", gateway.get("/e", connection=kept).status == 429)


def finishes_what_it_has_begun(weir, folder):
    with upstream() as (port, server):
        config = f'listen: 127.0.0.1:0\nstore: memory\nroutes: [{{path: /, upstream: "http://127.0.0.1:{port}"}}]\n'
        with Gateway(weir, folder, config) as gateway:
            result = {}
            thread = threading.Thread(target=lambda: result.update(answer=gateway.get("/slow").text))
            thread.start()
            expect("the request arrives", server.begun.wait(60))
            gateway.process.send_signal(signal.SIGTERM)
            expect("it says that it finishes", eventually(lambda: "finishing what was accepted" in gateway.logged()))
            expect("nobody new comes in", eventually(lambda: not connects(gateway.port)))
            server.go_on.set()
            thread.join()
            expect(f"the answer came: {result}", result.get("answer") == "upstream /slow\n")
            expect("it ended well", gateway.process.wait(60) == 0)


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
        return True
    except OSError:
        return False


def speaks_tls_on_both_sides(weir, folder):
    ours, theirs, other = (certificate(folder, name) for name in ("ours", "theirs", "other"))
    with upstream("secret", theirs) as (port, _):
        config = f"""
listen: 127.0.0.1:0
tls: {{cert: {ours[0]}, key: {ours[1]}, ca: {theirs[0]}}}
store: memory
routes:
  - {{path: /, upstream: "https://127.0.0.1:{port}"}}
"""
        context = ssl.create_default_context(cafile=ours[0])
        with Gateway(weir, folder, config) as gateway:
            expect(f"greeting {gateway.greeting}", "https://" in gateway.greeting)
            connection = gateway.connect(context)
            for i in range(3):
                expect("through TLS twice", gateway.get(f"/{i}", connection=connection).text == f"secret /{i}\n")
            connection.request("POST", "/", body=b"x" * 3_000_000)
            expect("a large body", connection.getresponse().read() == b"3000000")
            expect("an upstream that cannot prove who it is", gateway.reload(
                config.replace(theirs[0], other[0]), "read the gateway's file again"))
            expect("is not spoken to", gateway.get("/", connection=gateway.connect(context)).status == 502)
            pathlib.Path(ours[0]).write_bytes(pathlib.Path(other[0]).read_bytes())
            pathlib.Path(ours[1]).write_bytes(pathlib.Path(other[1]).read_bytes())
            expect("the certificate is read again", gateway.reload(config, "read the gateway's file again"))
            fresh = gateway.connect(ssl.create_default_context(cafile=other[0]))
            expect("and used for new connections", gateway.get("/", connection=fresh).status == 200)


def starts_while_its_store_is_unavailable(weir, folder):
    # As if the disk were not mounted yet.
    store = f"sqlite:{folder}/disk/limits.db"
    with upstream() as (port, _):
        route = f'path: /, upstream: "http://127.0.0.1:{port}", limits: {{rpm: 1}}'
        config = f"listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\nstore: {store}\nroutes: [{{{route}}}]\n"
        with Gateway(weir, folder, "on_unavailable: deny\n" + config) as strict:
            expect("if nothing may pass it starts and denies", [strict.get("/").status for _ in range(2)] == [503, 503])
            pathlib.Path(folder, "disk").mkdir()
            expect("it notices that the store is there", eventually(lambda: "the store is back" in strict.logged()))
            expect("it limits", [strict.get("/").status for _ in range(2)] == [200, 429])
        shutil.rmtree(f"{folder}/disk")
        with Gateway(weir, folder, config) as gateway:
            for _ in range(3):
                answer = gateway.get("/")
                expect("it passes", answer.status == 200 and answer.headers["Weir-Degraded"] == "true")
            expect("it says so", gateway.admin("/readyz") == (200, "ready, but the store is unavailable\n"))
            expect("and counts it", gateway.metric("weir_store_up") == 0)
            pathlib.Path(folder, "disk").mkdir()
            expect("it notices that the store is back", eventually(lambda: "the store is back" in gateway.logged()))
            expect("it limits", [gateway.get("/").status for _ in range(2)] == [200, 429])
            expect("and says so", gateway.admin("/readyz") == (200, "ready\n"))


def what_was_said_counts_more_than_the_file(weir, folder):
    with upstream() as (port, _):
        config = f'listen: 127.0.0.1:0\nstore: sqlite:of-the-file.db\nroutes: [{{path: /, upstream: "http://127.0.0.1:{port}"}}]\n'
        with Gateway(weir, folder, config, "--store", "memory:", "--log-format", "json") as gateway:
            expect(gateway.greeting, "store memory" in gateway.greeting)
            expect("it works", gateway.get("/").status == 200)
        expect("the file's store was not touched", not pathlib.Path(folder, "of-the-file.db").exists())
        expect("the log is JSON", gateway.logged().startswith("{"))


def tells_its_manager(weir, folder):
    with upstream() as (port, _), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(60)
        manager.bind(f"{folder}/notify")
        config = f'listen: 127.0.0.1:0\nstore: memory\nroutes: [{{path: /, upstream: "http://127.0.0.1:{port}"}}]\n'
        with Gateway(weir, folder, config, environment={"NOTIFY_SOCKET": f"{folder}/notify"}) as gateway:
            expect("ready", manager.recv(4096).startswith(b"READY=1\nSTATUS=listens on http://"))
            gateway.process.send_signal(signal.SIGHUP)
            expect("reloading", manager.recv(4096).startswith(b"RELOADING=1\nMONOTONIC_USEC="))
            expect("ready again", manager.recv(4096).startswith(b"READY=1\n"))
        expect("stopping", manager.recv(4096).startswith(b"STOPPING=1\n"))


def main(weir):
    tests = [says_what_is_wrong_with_its_file, says_what_a_user_of_its_store_can_do, is_administered_while_it_runs, tells_of_its_health_and_counts, reads_its_file_again_without_dropping_anybody,
             finishes_what_it_has_begun, speaks_tls_on_both_sides, starts_while_its_store_is_unavailable,
             what_was_said_counts_more_than_the_file, tells_its_manager]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(weir, folder)
    return report(f"{len(tests)} tests")


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve())))
