#!/usr/bin/env python3
"""Sends generated spellings of requests through `weir gateway` to a real server, over raw sockets.

    gateway_test.py WEIR VENV UPSTREAM [COMBINATIONS]

Every bucket admits one request in a day. So no request may reach a limited handler of the server unless the gateway
charged it, and none of the ways in which the server may read its client may yield the same client twice.
"""
import collections
import json
import os
import pathlib
import re
import socket
import struct
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent.parent / "gateway"))

from program import Gateway, eventually, expect, report  # noqa: E402
import upstreams  # noqa: E402
import variants  # noqa: E402

SEED = int(os.environ.get("WEIR_HOSTILE_SEED", 1))
FEWEST = 2000
LIMIT_BY = {"api": "header:X-Api-Key", "tenants": "path:2", "bearer": "bearer", "ip": "client_ip"}
LAST = b"GET /public HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
IP_BIND_ADDRESS_NO_PORT = 24  # of linux/in.h; Python 3.11 has no name for it
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def config(port, paths):
    more = f'upstream: "http://127.0.0.1:{port}", paths: {paths}'
    limited = 'limits: {rpd: 1/day}'
    routes = [f"{{path: /, {more}}}", f"{{path: /, host: {variants.LIMITED_HOST}, name: host, limit_by: client_ip, {limited}, {more}}}"]
    routes += [f'{{path: /{name}, limit_by: "{by}", {limited}, {more}}}' for name, by in LIMIT_BY.items()]
    return f"listen: 127.0.0.1:0\nstore: memory\nroutes: [{', '.join(routes)}]\n"


def source(n, variant):
    return "127.0.0.1" if variant.known else f"127.{1 + (n >> 16)}.{n >> 8 & 255}.{n & 255}"


class Answers:
    """The answers on one connection, as far as they were read."""

    def __init__(self, connection):
        self.connection, self.bytes, self.ended = connection, b"", False

    def more(self):
        try:
            read = self.connection.recv(65536)
        except TimeoutError:
            return False
        except OSError:
            read = b""
        self.bytes += read
        self.ended = not read
        return not self.ended

    def head(self):
        while b"\r\n\r\n" not in self.bytes and self.more():
            pass
        return self.bytes.partition(b"\r\n\r\n")[0]

    def rest(self):
        while self.more():
            pass

    def statuses(self):
        """Of the answers that count as charged: those with what is left of a limit, except for refusals."""
        heads = re.findall(rb"HTTP/1\.1 (\d{3})(.*?)\r\n\r\n", self.bytes, re.DOTALL)
        return [int(status) for status, fields in heads], sum(
            1 for status, fields in heads if b"\r\nRateLimit: " in fields and status not in (b"429", b"100"))


def send(port, address, variant):
    with socket.socket() as connection:
        # Thousands of connections would leave thousands of ports in TIME_WAIT, and later tests could not listen.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        connection.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        connection.bind((address, 0))
        connection.settimeout(60)
        connection.connect(("127.0.0.1", port))
        answers = Answers(connection)
        try:
            connection.sendall(bytes(variant) + (LAST if variant.body else b""))
        except OSError:
            pass  # answered and closed before all was sent
        head = answers.head()
        if variant.body or b" 101 " in head:
            if b" 101 " in head:
                connection.shutdown(socket.SHUT_WR)
            answers.rest()
        return answers


def exhaust(gateway):
    for path, key in variants.PLAIN.values():
        plain = variants.request(path, key, variant="plain")
        for status in (200, 429):
            expect(f"{path} is answered {status}", send(gateway.port, "127.0.0.1", plain).statuses()[0] == [status])
    hosted = variants.request("/public", "", host=variants.LIMITED_HOST, variant="plain")
    for status in (200, 429):
        expect(f"the host is answered {status}", send(gateway.port, "127.0.0.1", hosted).statuses()[0] == [status])


def clients(line):
    """The client that sent it, by each way of reading its key; the address if no way finds one."""
    found = {how: key for how, key in line["keys"].items() if key and key != "-"}
    return found or {"address": line["address"]}


def judge(name, lines, all_variants, charged):
    def show(variant):
        return variant if variant == "plain" else repr(bytes(all_variants[int(variant)]))
    first, per_variant = {}, collections.Counter()
    for line in lines:
        variant, handler = line["variant"], line["handler"]
        per_variant[variant] += 1
        again = {how: key for how, key in clients(line).items() if (handler, how, key) in first}
        for how, key in again.items():
            before = first[handler, how, key]
            expect(f"{name}: {handler} is reached again by {key!r} (read as {how}) with {show(variant)}, before with {show(before)}", False)
            break
        first.update({(handler, how, key): variant for how, key in clients(line).items() if how not in again})
    for variant, count in per_variant.items():
        if variant != "plain":
            expect(f"{name}: reached {count} times, charged {charged[variant]} times: {show(variant)}", count <= charged[variant])


def attack(weir, folder, name, paths, all_variants):
    reached = pathlib.Path(folder, "reached")
    reached.touch()
    charged, statuses = {}, collections.Counter()
    with upstreams.ALL[name](folder, reached, eventually) as port:
        with Gateway(weir, folder, config(port, paths)) as gateway:
            exhaust(gateway)
            for n, variant in enumerate(all_variants):
                answers = send(gateway.port, source(n, variant), variant)
                found, charged[str(n)] = answers.statuses()
                statuses[found[0] if found else 0] += 1
                expect(f"{name}, {paths}: no answer to {bytes(variant)!r}", found)
            expect(f"{name}, {paths}: the gateway ended", gateway.process.poll() is None)
    lines = [json.loads(line) for line in reached.read_text("latin-1").split("\n") if line]
    judge(f"{name}, {paths}", lines, all_variants, charged)
    expect(f"{name}, {paths}: {len(all_variants)} combinations, at least {FEWEST}", len(all_variants) >= FEWEST)
    print(f"{name}, paths: {paths}: {len(all_variants)} combinations, answers {dict(sorted(statuses.items()))}, "
          f"{len(lines)} admitted to limited handlers", flush=True)


def main():
    weir, venv = (str(pathlib.Path(path).absolute()) for path in sys.argv[1:3])
    name = sys.argv[3]
    os.environ["WEIR_VENV"] = venv
    all_variants = variants.generate(SEED, int(sys.argv[4]) if len(sys.argv) > 4 else 1000)
    for paths in ("strict", "canonical"):
        with tempfile.TemporaryDirectory() as folder:
            attack(weir, folder, name, paths, all_variants)
    return report(f"hostile requests to {name} with seed {SEED}")


if __name__ == "__main__":
    sys.exit(main())
