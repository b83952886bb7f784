"""A Starlette application with limited handlers. Writes a line for each request that reaches one.

    WEIR_REACHED=FILE uvicorn|hypercorn upstream:app
"""
import json
import os

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Mount, Route, Router, WebSocketRoute

METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
reached = open(os.environ["WEIR_REACHED"], "a", buffering=1)


def cgi(request, name):
    """As CGI names fields: a dash and an underscore are the same, and the last of several fields counts."""
    found = [value for key, value in request.headers.items() if key.lower().replace("_", "-") == name]
    return found[-1] if found else None


def token(value):
    words = (value or "").split()
    return words[1] if len(words) > 1 and words[0].lower() == "bearer" else None


def partitioned(value):
    scheme, _, rest = (value or "").partition(" ")
    return rest.split(" ")[0] or None if scheme.lower() == "bearer" else None


# The ways in which applications read who sends a request.
READERS = {
    "api": lambda request: {"field": request.headers.get("x-api-key"), "cgi": cgi(request, "x-api-key")},
    "tenants": lambda request: {"path": request.path_params["id"]},
    "bearer": lambda request: {
        "words": token(request.headers.get("authorization")), "partition": partitioned(request.headers.get("authorization")),
        "cgi": token(cgi(request, "authorization"))},
    "ip": lambda request: {
        "field": request.client.host, "first": request.headers["x-forwarded-for"].split(",")[0].strip(),
        "real": request.headers.get("x-real-ip"), "cgi": cgi(request, "x-forwarded-for")},
    "host": lambda request: {"field": request.client.host},
}


def limited(handler):
    async def handle(request):
        # The body first, so that trailers are there.
        await request.body()
        reached.write(json.dumps({
            "handler": handler, "variant": request.headers.get("x-variant"), "target": request.scope["raw_path"].decode("latin-1"),
            "keys": READERS[handler](request), "address": request.headers.get("x-forwarded-for")}) + "\n")
        return PlainTextResponse("limited")
    return handle


async def everything_else(request):
    await request.body()
    return PlainTextResponse("open")


async def echo(websocket):
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(text)


def route(path, handler):
    return Route(path, limited(handler), methods=METHODS)


def below(handler):
    return [route("/", handler), route("/{rest:path}", handler)]


router = Starlette(routes=[
    Host("limited.example", Router(below("host"))),
    route("/api", "api"), Mount("/api", routes=below("api")),
    route("/tenants/{id}", "tenants"), Mount("/tenants/{id}", routes=below("tenants")),
    route("/bearer", "bearer"), Mount("/bearer", routes=below("bearer")),
    route("/ip", "ip"), Mount("/ip", routes=below("ip")),
    WebSocketRoute("/ws", echo),
    Route("/{rest:path}", everything_else, methods=METHODS),
])
app = router
if "WEIR_HYPERCORN" in os.environ:
    from hypercorn.middleware import ProxyFixMiddleware
    app = ProxyFixMiddleware(router, mode="legacy", trusted_hops=1)
