"""The servers behind the gateway. Each appends a line of JSON to a file for each request that reaches a limited handler."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess

HERE = pathlib.Path(__file__).parent

# A limited handler is a location with a log. nginx takes X_Api_Key for X-Api-Key here, as CGI does.
NGINX = r"""
worker_processes 1; daemon off; pid FOLDER/nginx.pid; error_log FOLDER/error.log crit;
events { worker_connections 4096; }
http {
  access_log off; underscores_in_headers on; ignore_invalid_headers off;
  client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy; fastcgi_temp_path FOLDER/fastcgi;
  uwsgi_temp_path FOLDER/uwsgi; scgi_temp_path FOLDER/scgi;
  map $http_authorization $token { default ""; "~*^bearer\s+(?<found>\S+)" $found; }
  set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For;
LOGS
  server {
    listen 127.0.0.1:PORT default_server;
    location = /api { access_log REACHED api; return 200 limited; }
    location /api/ { access_log REACHED api; return 200 limited; }
    location ~ ^/tenants/(?<id>[^/]+) { access_log REACHED tenants; return 200 limited; }
    location ~ ^/bearer(/.*)?$ { access_log REACHED bearer; return 200 limited; }
    location ~ ^/ip(/|$) { access_log REACHED ip; return 200 limited; }
    location / { return 200 open; }
  }
  server {
    listen 127.0.0.1:PORT; server_name limited.example;
    access_log REACHED host;
    location / { return 200 limited; }
  }
}
"""
NGINX_KEYS = {"api": {"field": "http_x_api_key"}, "tenants": {"path": "id"}, "bearer": {"pattern": "token"},
              "ip": {"field": "remote_addr", "whole": "http_x_forwarded_for", "real": "http_x_real_ip"},
              "host": {"field": "remote_addr"}}


def nginx_log(handler, keys):
    read = ",".join(f'"{name}":"${variable}"' for name, variable in keys.items())
    return (f"  log_format {handler} escape=json '{{\"handler\":\"{handler}\",\"variant\":\"$http_x_variant\","
            f"\"target\":\"$request_uri\",\"address\":\"$http_x_forwarded_for\",\"keys\":{{{read}}}}}';")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command, ends_with, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.send_signal(ends_with)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextlib.contextmanager
def nginx(folder, reached, eventually):
    port = free_port()
    text = NGINX.replace("LOGS", "\n".join(nginx_log(*of) for of in NGINX_KEYS.items()))
    text = text.replace("FOLDER", folder).replace("PORT", str(port)).replace("REACHED", str(reached))
    pathlib.Path(folder, "nginx.conf").write_text(text)
    # nginx completes what it has accepted after SIGQUIT, and logs it.
    with running(["nginx", "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log"], signal.SIGQUIT):
        assert eventually(lambda: answers(port)), "nginx does not start"
        yield port


@contextlib.contextmanager
def express(folder, reached, eventually):
    with running(["node", HERE / "upstream.js", reached], signal.SIGKILL, text=True, stdout=subprocess.PIPE) as process:
        with process.stdout as out:
            yield int(out.readline())


def python_server(name, *options, **environment):
    @contextlib.contextmanager
    def start(folder, reached, eventually):
        port = free_port()
        bind = ["--bind", f"127.0.0.1:{port}"] if name == "hypercorn" else ["--host", "127.0.0.1", "--port", str(port)]
        command = [pathlib.Path(os.environ["WEIR_VENV"], "bin/python"), "-m", name, *bind, *options, "upstream:app"]
        log = open(f"{folder}/{name}.log", "w")
        with log, running(command, signal.SIGKILL, cwd=HERE, stdout=log, stderr=log,
                          env={**os.environ, "WEIR_REACHED": str(reached), **environment}):
            assert eventually(lambda: answers(port)), pathlib.Path(log.name).read_text()
            yield port
    return start


ALL = {
    "nginx": nginx,
    "express": express,
    "uvicorn": python_server("uvicorn", "--no-access-log", "--http", "httptools", "--forwarded-allow-ips", "127.0.0.1"),
    "uvicorn_h11": python_server("uvicorn", "--no-access-log", "--http", "h11", "--forwarded-allow-ips", "127.0.0.1"),
    "hypercorn": python_server("hypercorn", "--workers", "0", "--log-level", "CRITICAL", WEIR_HYPERCORN="1"),
}
