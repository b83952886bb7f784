#!/usr/bin/env python3
"""The gateway under much: bodies of 2 GiB each way, and 10,000 connections that do nothing.

    large_test.py WEIR bodies|connections [MIB]
"""
import pathlib
import resource
import socket
import sys
import tempfile
import threading

from program import Gateway, expect, report

part = bytes(1 << 20)


def read_head(peer):
    head = b""
    while b"\r\n\r\n" not in head:
        more = peer.recv(65536)
        if not more:
            return None, b""
        head += more
    at = head.index(b"\r\n\r\n") + 4
    return head[:at], head[at:]


def take(peer, count):
    """Reads so many bytes, and keeps none."""
    room = bytearray(1 << 20)
    while count > 0:
        taken = peer.recv_into(room, min(len(room), count))
        if taken == 0:
            return False
        count -= taken
    return True


def give(peer, count):
    for _ in range(count // len(part)):
        peer.sendall(part)


def serve(listening, size):
    """Swallows what is posted, pours out what is got."""
    while True:
        try:
            peer, _ = listening.accept()
        except OSError:
            return
        with peer:
            while True:
                head, rest = read_head(peer)
                if head is None:
                    break
                if head.startswith(b"POST"):
                    expect("the whole body reached the upstream", take(peer, size - len(rest)))
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
                else:
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
                    give(peer, size)


def config(port):
    return f'listen: 127.0.0.1:0\nstore: memory\nmax_connections_per_address: 100000\nroutes: [{{path: /, upstream: "http://127.0.0.1:{port}"}}]\n'


def bodies(weir, folder, mib):
    size = mib << 20
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening, size))
        thread.start()
        with Gateway(weir, folder, config(listening.getsockname()[1])) as gateway:
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=600) as client:
                before = gateway.resident_kib()
                client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
                give(client, size)
                head, _ = read_head(client)
                expect(f"posted: {head}", head.startswith(b"HTTP/1.1 200"))
                after_post = gateway.resident_kib()
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=600) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                head, rest = read_head(client)
                expect("the whole body reached the client", take(client, size - len(rest)))
                after_get = gateway.resident_kib()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    print(f"{mib} MiB each way: {before} KiB resident before, {after_post} after one, {after_get} after the other")
    # At any moment a few hundred KiB are on their way.
    expect("memory stays flat", max(after_post, after_get) - before < 8192)


def connections(weir, folder, _):
    wanted = 10_000
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # The gateway keeps a quarter of its own for upstreams.
    wanted = min(wanted, most * 3 // 4 - 512)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening, len(part)))
        thread.start()
        with Gateway(weir, folder, config(listening.getsockname()[1])) as gateway:
            clients = []
            for i in range(wanted):
                client = socket.create_connection(("127.0.0.1", gateway.port), timeout=60)
                clients.append(client)
                # Each tenth has been of use.
                if i % 10 == 0:
                    client.sendall(b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n")
                    _, rest = read_head(client)
                    expect("answered", take(client, len(part) - len(rest)))
            resident = gateway.resident_kib()
            last = clients[-1]
            last.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            head, _ = read_head(last)
            expect(f"it still answers: {head}", head.startswith(b"HTTP/1.1 200"))
            for client in clients:
                client.close()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    print(f"{wanted} connections that do nothing: {resident} KiB resident")
    expect("10,000 were there", wanted == 10_000)
    expect("less than 200 MiB", resident < 200 * 1024)


def main(weir, what, mib=2048):
    with tempfile.TemporaryDirectory() as folder:
        {"bodies": bodies, "connections": connections}[what](weir, folder, int(mib))
    return report(what)


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), *sys.argv[2:]))
