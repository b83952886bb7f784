#!/usr/bin/env python3
"""Real clients and real servers on both sides of the gateway: curl, wrk, nginx, Node.js, a browser.

    clients_test.py WEIR curl|wrk|nginx|node|browser
"""
import base64
import contextlib
import hashlib
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile

from program import Gateway, eventually, expect, report, upstream

here = pathlib.Path(__file__).parent


@contextlib.contextmanager
def node():
    with node_process() as process:
        yield int(process.stdout.readline())


@contextlib.contextmanager
def node_process():
    process = subprocess.Popen(["node", here / "server.js"], text=True, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def config(port, more="limits: {rpm: 1000000/min}"):
    return f'listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\nstore: memory\nroutes: [{{path: /, upstream: "http://127.0.0.1:{port}", {more}}}]\n'


def curl_gets_what_it_asks_for(weir, folder):
    def curl(*arguments):
        return subprocess.run(["curl", "-sS", "--max-time", "60", *arguments], capture_output=True, text=True)
    body = pathlib.Path(folder, "body")
    body.write_bytes(os.urandom(3_000_000))
    whole = f"3000000 {hashlib.sha256(body.read_bytes()).hexdigest()}\n"
    with node() as port, Gateway(weir, folder, config(port)) as gateway:
        url = f"http://127.0.0.1:{gateway.port}"
        # With a length, and Expect: 100-continue, which curl sends with a body of this size.
        expect("an upload", curl("--data-binary", f"@{body}", f"{url}/upload").stdout == whole)
        expect("in chunks", curl("-H", "Transfer-Encoding: chunked", "--data-binary", f"@{body}", f"{url}/upload").stdout == whole)
        expect("without 100", curl("-H", "Expect:", "--data-binary", f"@{body}", f"{url}/upload").stdout == whole)
        expect("HTTP/1.0", curl("-0", "-H", "Expect:", "--data-binary", f"@{body}", f"{url}/upload").stdout == whole)
        head = curl("-I", f"{url}/style.css").stdout
        expect(f"HEAD: {head}", "200 OK" in head and "RateLimit: " in head)
        events = curl("-N", f"{url}/events").stdout
        expect(f"events: {events}", events == "data: 1\n\ndata: 2\n\ndata: 3\n\n")
        several = curl(f"{url}/style.css", f"{url}/json", "-d", "{}", f"{url}/style.css")
        expect(f"on one connection: {several}", several.returncode == 0)
        refused = curl("-w", "%{http_code}", "--proxy", url, "http://elsewhere.example/style.css")
        expect(f"as a proxy that it is not, it answers for itself: {refused.stdout}", refused.stdout.endswith("200"))


def wrk_is_answered_without_an_error(weir, folder):
    with node() as port, Gateway(weir, folder, config(port) + "threads: 2\n") as gateway:
        done = subprocess.run(["wrk", "-t2", "-c64", "-d2s", f"http://127.0.0.1:{gateway.port}/style.css"],
                              capture_output=True, text=True).stdout
        answered = int(re.search(r"(\d+) requests in", done)[1])
        expect(f"all are answered: {done}", answered > 100 and "Non-2xx" not in done and "Socket errors" not in done)
        counted = gateway.metric('weir_gateway_requests_total{route="/",status="2xx"}')
        expect(f"all are counted: {answered} and {counted}", counted and 0 <= counted - answered <= 64)
        admitted = gateway.metric('weir_decisions_total{namespace="default",resource="/",outcome="admitted"}')
        expect(f"and decided once: {admitted}", 0 <= admitted - answered <= 64)


def nginx_is_a_server_like_any_other(weir, folder):
    files = pathlib.Path(folder, "files")
    files.mkdir()
    (files / "data").write_bytes(bytes(range(256)) * 4096)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    nginx_config = pathlib.Path(folder, "nginx.conf")
    nginx_config.write_text(f"""daemon off; master_process off; pid {folder}/pid; error_log {folder}/error; events {{}}
http {{ access_log off; keepalive_requests 3; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;
fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
server {{ listen 127.0.0.1:{port}; root {files}; gzip on; gzip_types *; gzip_proxied any; gzip_http_version 1.0; }} }}""")
    process = subprocess.Popen(["nginx", "-p", folder, "-c", str(nginx_config)])
    try:
        with Gateway(weir, folder, config(port)) as gateway:
            expect("nginx is there", eventually(lambda: gateway.get("/data").status == 200))
            connection = gateway.connect()

            def ask(headers):
                connection.request("GET", "/data", headers=headers)
                answer = connection.getresponse()
                answer.bytes = answer.read()
                return answer
            # nginx closes each of its connections after three requests.
            for _ in range(10):
                expect("whole", ask({}).bytes == (files / "data").read_bytes())
            part = ask({"Range": "bytes=10-19"})
            expect(f"a part: {part.status}", part.status == 206 and part.bytes == bytes(range(10, 20)))
            compressed = ask({"Accept-Encoding": "gzip"})
            expect(f"compressed: {compressed.headers}", compressed.headers["Content-Encoding"] == "gzip")
            unchanged = ask({"If-None-Match": ask({}).headers["ETag"]})
            expect(f"unchanged: {unchanged.status}", unchanged.status == 304)
            expect("missing", gateway.get("/missing").status == 404)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def frame(text):
    mask = b"mask"
    return bytes([0x81, 0x80 | len(text)]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text.encode()))


def node_streams_events_and_speaks_websocket(weir, folder):
    with node() as port, Gateway(weir, folder, config(port)) as gateway:
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as stream:
            stream.sendall(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
            seen = b""
            while b"data: begun" not in seen:
                seen += stream.recv(4096)
            # The next event is caused only now, so that it cannot have waited in a buffer.
            for i in range(3):
                expect("somebody listens", gateway.get("/tell").text == "1")
                while seen.count(b"data: told") != i + 1:
                    seen += stream.recv(4096)
        # A client that leaves is noticed when the next event cannot be sent.
        expect("nobody listens any more", eventually(lambda: gateway.get("/tell").text == "0"))
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as tunnel:
            key = base64.b64encode(os.urandom(16)).decode()
            tunnel.sendall((f"GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
            seen = b""
            while b"\r\n\r\n" not in seen:
                seen += tunnel.recv(4096)
            accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
            expect(f"a WebSocket: {seen}", b" 101 " in seen and accept in seen)
            for text in ("one", "two", "three"):
                tunnel.sendall(frame(text))
                expected = bytes([0x81, len(text)]) + text.encode()
                back = b""
                while len(back) < len(expected):
                    back += tunnel.recv(4096)
                expect(f"{text} comes back: {back}", back == expected)
            # SIGHUP leaves tunnels alone.
            expect("a reload", gateway.reload(config(port, "timeout_ms: 5000"), "read the gateway's file again"))
            tunnel.sendall(frame("after"))
            expect("the tunnel goes on", tunnel.recv(4096) == b"\x81\x05after")


def a_browser_loads_a_page(weir, folder):
    """The page reports once server-sent events, a WebSocket and a fetch have all shown what they should."""
    with node_process() as server, Gateway(weir, folder, config(int(server.stdout.readline()))) as gateway:
        browser = next(name for name in ("chromium", "chromium-browser") if subprocess.run(["which", name], capture_output=True).returncode == 0)
        log = pathlib.Path(folder, "browser.log")
        with log.open("w") as errors:
            shown = subprocess.Popen(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
                 "--remote-debugging-port=0", f"http://127.0.0.1:{gateway.port}/"],
                stdout=errors, stderr=errors, start_new_session=True)
        try:
            reported, _, _ = select.select([server.stdout], [], [], 240)
            said = server.stdout.readline() if reported else f"nothing: {log.read_text()[-2000:]}"
            expect(f"the page says: {said}", said == "all shown\n")
        finally:
            os.killpg(shown.pid, signal.SIGKILL)
            shown.wait()


def main(weir, client):
    tests = {"curl": curl_gets_what_it_asks_for, "wrk": wrk_is_answered_without_an_error,
             "nginx": nginx_is_a_server_like_any_other, "node": node_streams_events_and_speaks_websocket,
             "browser": a_browser_loads_a_page}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tests[client](weir, folder)
    return report(client)


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]))
