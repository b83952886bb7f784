"""What the tests of the program `weir gateway` share: the program itself, upstreams, and keeping score."""
import contextlib
import http.client
import http.server
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

wrong = []


def expect(what, condition):
    if not condition:
        wrong.append(what)
        print(f"WRONG: {what}", flush=True)


def report(done):
    print(f"{done}, {len(wrong)} wrong")
    return 1 if wrong else 0


def eventually(condition, patience=60):
    """Whether it becomes true. Only for what other processes do in their own time."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    name = "upstream"

    def log_message(self, *args):
        pass

    def do_GET(self):
        if self.path == "/slow":
            self.server.begun.set()
            self.server.go_on.wait(60)
        body = f"{self.name} {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        body = str(len(self.rfile.read(size))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def upstream(name="upstream", certificate=None):
    """A server of Python's own library; yields its port, and itself."""
    handler = type("Named", (Handler,), {"name": name})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.begun, server.go_on = threading.Event(), threading.Event()
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1], server
    finally:
        server.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Gateway:
    """The program, on a free port unless the file says otherwise."""

    def __init__(self, weir, folder, config, *options, environment=None):
        self.config = pathlib.Path(folder, "gateway.yaml")
        self.log = pathlib.Path(folder, "log")
        self.write(config)
        self.process = subprocess.Popen(
            [weir, "gateway", "--config", str(self.config), *options], cwd=folder, text=True, stdout=subprocess.PIPE,
            stderr=open(self.log, "w"), env={**os.environ, **(environment or {})})
        self.greeting = self.process.stdout.readline()
        if not self.greeting:
            print(f"the gateway does not start: {self.logged()}", flush=True)
        found = re.findall(r"https?://127\.0\.0\.1:(\d+)", self.greeting)
        self.port = int(found[0]) if found else 0
        self.admin_port = int(found[1]) if len(found) > 1 else 0

    def write(self, config):
        self.config.write_text(config)

    def reload(self, config, said):
        """Has the file read again, and waits for the log to say so."""
        before = self.logged().count(said)
        self.write(config)
        self.process.send_signal(signal.SIGHUP)
        return eventually(lambda: self.logged().count(said) > before)

    def logged(self):
        return self.log.read_text()

    def connect(self, context=None):
        if context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def get(self, path, headers={}, connection=None):
        connection = connection or self.connect()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.text = answer.read().decode(errors="replace")
        return answer

    def admin_url(self):
        return f"http://127.0.0.1:{self.admin_port}"

    def admin(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def metric(self, line):
        """The value of the metric that starts with this."""
        found = re.search(rf"^{re.escape(line)} (\S+)$", self.admin("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else None

    def resident_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def __enter__(self):
        return self

    def __exit__(self, *args):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                expect("the gateway did not end when it was told to", False)
        self.process.stdout.close()


def certificate(folder, name):
    """A certificate for localhost and 127.0.0.1 that is its own authority: (cert, key)."""
    cert, key = f"{folder}/{name}.crt", f"{folder}/{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", cert, "-subj", f"/O={name}/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    return cert, key
