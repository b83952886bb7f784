"""What reaches a store, one request after the other: a watch on redis-server, and a proxy in front of DynamoDB."""
import hashlib
import http.client
import http.server
import json
import pathlib
import re
import socket
import threading


class RedisWatch:
    """The commands that clients send, by MONITOR. It marks those that scripts run, which are left out."""
    line = re.compile(r'^\+[\d.]+ \[\d+ (\S+)\] (.*)$')
    word = re.compile(r'"((?:[^"\\]|\\.)*)"')

    def __init__(self, port, source):
        scripts = pathlib.Path(source, "src/store/redis").glob("*.lua")
        self.scripts = {hashlib.sha1(script.read_bytes()).hexdigest(): script.stem for script in scripts}
        self.monitor, self.marks = (socket.create_connection(("127.0.0.1", port), 60) for _ in range(2))
        self.monitor.sendall(b"MONITOR\r\n")
        self.lines = self.monitor.makefile("r", encoding="latin-1", newline="\r\n")
        assert self.lines.readline() == "+OK\r\n"
        self.answers = self.marks.makefile("rb")
        self.last_mark = 0

    def take(self):
        """The name and the words of every command since the last time."""
        self.last_mark += 1
        mark = f"mark-{self.last_mark}"
        self.marks.sendall(f"ECHO {mark}\r\n".encode())
        self.answers.readline(), self.answers.readline()
        commands = []
        while True:
            client, rest = self.line.match(self.lines.readline().rstrip("\r\n")).groups()
            words = self.word.findall(rest)
            if words == ["ECHO", mark]:
                return commands
            if client != "lua":
                commands.append((self.name(words), words))

    def name(self, words):
        """A script's name instead of its digest."""
        command = words[0].lower()
        if command in ("evalsha", "eval") and len(words) > 1:
            return f"{command} {self.scripts.get(words[1], words[1][:8])}"
        return command

    def close(self):
        self.lines.close(), self.answers.close()
        self.monitor.close(), self.marks.close()


class DynamoProxy(http.server.ThreadingHTTPServer):
    """Passes requests on to DynamoDB Local, and keeps what they ask for."""
    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), DynamoHandler)
        self.upstream = port
        self.lock = threading.Lock()
        self.requests = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def take(self):
        """The name and the text of every request since the last time. The name of one that failed says so."""
        with self.lock:
            requests, self.requests = self.requests, []
        return requests

    def close(self):
        self.shutdown()
        self.server_close()


class DynamoHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def setup(self):
        super().setup()
        self.upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)

    def finish(self):
        self.upstream.close()
        super().finish()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.upstream.request("POST", self.path, body, dict(self.headers))
        answer = self.upstream.getresponse()
        text = answer.read()
        target = self.headers["X-Amz-Target"].rpartition(".")[2]
        name = target if answer.status == 200 else f"{target} ({json.loads(text)['__type'].rpartition('#')[2]})"
        with self.server.lock:
            self.server.requests.append((name, [body.decode()]))
        head = [f"HTTP/1.1 {answer.status} {answer.reason}", f"Content-Length: {len(text)}"]
        head += [f"{name}: {value}" for name, value in answer.getheaders()
                 if name.lower() not in ("content-length", "transfer-encoding", "connection")]
        self.wfile.write("\r\n".join(head + ["", ""]).encode() + text)
