"""Spellings of requests that should not get around a limit, generated: paths, fields, and both combined.

Every variant aims at a handler whose bucket is empty, with the client's own key.
"""
import dataclasses
import itertools
import random

KEY, TOKEN, TENANT, LIMITED_HOST = "acme", "token-of-acme", "acme", "limited.example"
# The handlers, as a client that hides nothing asks for them.
PLAIN = {
    "api": ("/api", f"X-Api-Key: {KEY}\r\n"),
    "tenants": (f"/tenants/{TENANT}", ""),
    "bearer": ("/bearer", f"Authorization: Bearer {TOKEN}\r\n"),
    "ip": ("/ip", ""),
}
BELOW = ("", "/items")

PREFIXES = [
    "/public/..", "/public/%2e%2e", "/public/%2E.", "/public/..;", "/public/..;x=1", "/public%2f..", "/public/x/../..",
    "/public\\..", "/public%5c..", "/.", "/%2e", "/..", "/%2e%2e", "/", "//", "/%2f", "/;", "/;x", "/%3b", "/\\", "\\", "/%5c",
    "/%20", "/%09", "/%0a", "/%00", "/%00/..", "%2f", "/%252e", "/public/%252e%252e", "/public/%c0%ae%c0%ae",
    "/public/%e0%80%ae.", "http://a", "HTTP://a", "https://a", "http://a:80", "http://b.example", "http://a//", "http://a/.",
    "http://a/public/..", "http://user@a", "http:", "http:/", "/http://a", "//a", "a", "?", "*", "/*", "/public?/..", "#",
    "/public#", "/~", "/%ef%bc%8f..", "/%u002e", "/public%2f%2%45%2%45", "/%5c/%2%65", f"http://{LIMITED_HOST}", f"http://{LIMITED_HOST.upper()}.:80",
]
SLASHES = [
    "//", "///", "/./", "/%2e/", "/%2E/", "/x/../", "/x/%2e%2e/", "/x/.%2e/", "/x/..;/", "/x/..;a=b/", "/x/..%3b/", "%2f", "%2F",
    "/%2f", "\\", "%5c", "/%5C", "%252f", "%255c", "/;/", "/;x/", "/%3b/", "/%20/", "/%09/", "%c0%af", "%e0%80%af",
    "%ef%bc%8f", "%u002f", "/x/..%2f", "/x%2f..%2f", "/x/..%5c", "/.;/", "/.;x/", "/%00/", "/../", "/x//../", "/%20../",
    "/x/%c0%ae%c0%ae/", "/x/y/../../", "/%0a", "/%0d",
]
SUFFIXES = [
    "/", "//", "/.", "/..", "/../", "/x/..", "/x/../", "/%2e", "/%2e%2e", "/..%2fpublic", "/%2e%2e%2fpublic", "/..%5cpublic",
    "/..;/public", ";", ";x", ";x=1", ";x/y", "/;x", "%3b", "%3Bx", "/%3b", ".", "..", "%2e", "%2e%2e", "%252e", "%20", "%20%20",
    "+", "%09", "%0a", "%0A%0a", "%0b", "%0c", "%0d", "%0d%0a", "%1f", "%7f", "%85", "%00", "%00.html", "%2500", "%23", "%23x",
    "%3f", "%3fx", "%253f", "?", "?x", "?/../public", "?;x", "#", "#x", "%", "%2", "%zz", "%u0000", "%ff", "%fe", "%80", "%c0%80",
    "%ed%a0%80", "%ed%a0%81", "%ef%bf%bd", "%e2%80%8b", "%c2%a0", "%c2%85", "%ef%bb%bf", "*", "~", "'", ",", "|", "^", "%5c", "\\", "%2f",
    "%2F", "/%2f", "%252f", ".json", "/index", "::$DATA", "%c0%ae", "=", "&", "@", "%40", "!", "$",
]


def fullwidth(letter):
    return "".join(f"%{byte:02x}" for byte in chr(ord(letter) + 0xFEE0).encode())


def overlong(letter):
    return f"%{0xC0 | ord(letter) >> 6:02x}%{0x80 | ord(letter) & 0x3F:02x}"


LETTERS = [
    str.upper, lambda c: f"%{ord(c):02x}", lambda c: f"%{ord(c):02X}", lambda c: f"%{ord(c.upper()):02x}",
    lambda c: f"%25{ord(c):02x}", lambda c: f"%2525{ord(c):02x}", lambda c: f"%u00{ord(c):02x}", overlong, fullwidth,
    lambda c: f"{c}%00", lambda c: f"%00{c}", lambda c: f"%0a{c}",
    lambda c: {"s": "%c5%bf", "k": "%e2%84%aa", "i": "%c4%b1"}.get(c, f"%C3%{ord(c) - 0x20 + 0x20:02x}"),
]


def letters_changed(path):
    """One letter, the first of each segment, or all of them in each other spelling."""
    at = [i for i, c in enumerate(path) if c.isalpha()]
    firsts = [i for i in at if path[i - 1] == "/"]
    for spell in LETTERS:
        for chosen in (at[:1], at[-1:], firsts[-1:], firsts, at):
            yield "".join(spell(c) if i in chosen else c for i, c in enumerate(path))


def slashes_changed(path):
    for at in (i for i, c in enumerate(path) if c == "/"):
        for slash in SLASHES:
            yield path[:at] + slash + path[at + 1:]


def once(path):
    """The path with one change."""
    yield path
    yield from letters_changed(path)
    yield from slashes_changed(path)
    yield from (path + suffix for suffix in SUFFIXES)
    yield from (prefix + path for prefix in PREFIXES)


def mixed(path, random):
    """The path with up to four changes."""
    for change in random.sample((letters_changed, slashes_changed), random.randrange(3)):
        path = random.choice(list(change(path)))
    if random.random() < 0.6:
        path += random.choice(SUFFIXES)
    if random.random() < 0.6:
        path = random.choice(PREFIXES) + path
    return path


def smuggled(handler, n):
    path, key = PLAIN[handler]
    return f"GET {path} HTTP/1.1\r\nHost: a\r\nX-Variant: {n}\r\n{key}\r\n"


H2C = "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0" * 3 + "\x04" + "\0" * 5
WEBSOCKET = "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"


def own_fields(handler):
    """The fields of the client's key in spellings that a server may take for it."""
    if handler == "api":
        for name in ("X-Api-Key", "x-api-key", "X_Api_Key", "X-Api_Key", "X_API_KEY", "X-Api-Key_", "X__Api_Key", "-X-Api-Key"):
            for value in (KEY, f" {KEY}", f"{KEY} ", f"\t{KEY}\t", f"{KEY},", f"{KEY},{KEY}", f"{KEY}\xa0", f"\x85{KEY}", f'"{KEY}"'):
                yield f"{name}: {value}\r\n"
        for other in ("b", "", KEY, "ip:127.0.0.1", "h:1"):
            yield f"X-Api-Key: {other}\r\nX-Api-Key: {KEY}\r\n"
            yield f"X-Api-Key: {KEY}\r\nX-Api-Key: {other}\r\n"
            yield f"X-Api-Key: {other}\r\nX_Api_Key: {KEY}\r\n"
        yield f"X-Api-Key:\r\n {KEY}\r\n"
        yield f"X-Api-Key : {KEY}\r\n"
        yield f"X-Api-Key: {KEY}\nX-Other: 1\r\n"
    if handler == "bearer":
        for scheme in ("Bearer", "bearer", "BEARER", "bEaReR"):
            for space in (" ", "  ", "\t", " \t ", "\xa0", "\x85", " \xa0", "\x0b", "\x0c", "", ",", "="):
                yield f"Authorization: {scheme}{space}{TOKEN}\r\n"
        for end in (" ", "\t", "\xa0", "\x85", " x", "\tx", " 1", "\xa0x", ",", ", Basic eA==", ";", "\x0cx"):
            yield f"Authorization: Bearer {TOKEN}{end}\r\n"
        for before in ("\xa0", "\x85", "\t", ","):
            yield f"Authorization: {before}Bearer {TOKEN}\r\n"
        for name in ("authorization", "AUTHORIZATION", "Authorization_", "Authori_zation", "Proxy-Authorization", "X-Authorization"):
            yield f"{name}: Bearer {TOKEN}\r\n"
        for other in ("Bearer b", "", "Basic eA==", f"Bearer {TOKEN}"):
            yield f"Authorization: {other}\r\nAuthorization: Bearer {TOKEN}\r\n"
            yield f"Authorization: Bearer {TOKEN}\r\nAuthorization: {other}\r\n"
    yield PLAIN[handler][1]


def other_fields():
    """Fields that change how a request is forwarded or whom it names, whatever handler it is for."""
    hidden = ("X-Api-Key", "x-api-key", "X_Api_Key", "Authorization", "Host", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-IP",
              "Via", "TE", "Content-Length", "Transfer-Encoding", "Upgrade", "Cookie")
    for name in hidden:
        yield f"Connection: {name}\r\n"
        yield f"Connection: close, {name}\r\n"
        yield f"Connection: keep-alive\r\nConnection: ,{name},\r\n"
        yield f'Connection: "{name}"\r\n'
        yield f"Proxy-Connection: {name}\r\n"
        yield f"Connection: upgrade, {name}\r\n{WEBSOCKET}"
    for upgrade in (H2C, WEBSOCKET, "Upgrade: h2c, websocket\r\n", "Upgrade: websocket, h2c\r\n", "Upgrade: HTTP/2.0\r\n", "Upgrade: TLS/1.0\r\n",
                    "Upgrade: H2C\r\n", 'Upgrade: "h2c"\r\n', "Upgrade: h2c/1\r\n", "Upgrade: websocket/13\r\n"):
        for connection in ("Upgrade", "upgrade, HTTP2-Settings", "Upgrade\r\nConnection: HTTP2-Settings", "keep-alive, Upgrade", "HTTP2-Settings"):
            yield f"Connection: {connection}\r\n{upgrade}"
    for name in ("X-Forwarded-For", "X_Forwarded_For", "X-Forwarded_For", "x-forwarded-for", "X-Real-IP", "X_Real_IP", "Forwarded",
                 "Client-IP", "X-Client-IP", "X-Forwarded-Host", "X_Forwarded_Host", "X-Forwarded-Proto", "X-Forwarded-Prefix"):
        for value in ("127.0.0.1", "127.0.0.1, 127.0.0.1", "for=127.0.0.1", LIMITED_HOST, "", "::ffff:127.0.0.1"):
            yield f"{name}: {value}\r\n"
    for name in ("X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-Script-Name", "Proxy"):
        for value in ("/api", f"/tenants/{TENANT}", "GET"):
            yield f"{name}: {value}\r\n"
    yield "Host: b\r\n"
    yield f"Host: {LIMITED_HOST}\r\n"


def bodies(handler, n):
    """Fields and what follows the head: requests hidden in it, upgrades, and keys in trailers."""
    inner = smuggled(handler, n)
    key = PLAIN[handler][1] or f"X-Forwarded-For: 127.0.0.1\r\n"
    for upgrade in ("", f"Connection: Upgrade\r\n{WEBSOCKET}", f"Connection: Upgrade, HTTP2-Settings\r\n{H2C}"):
        yield upgrade, inner
        yield upgrade, PREFACE + inner
        yield upgrade + f"Content-Length: {len(inner)}\r\n", inner
        yield upgrade + f"Content-Length: 0\r\n", inner
        yield upgrade + "Content-Length: 5\r\nContent-Length: 0\r\n", inner
        yield upgrade + "Content_Length: 5\r\n", inner
        yield upgrade + "Transfer_Encoding: chunked\r\n", inner
        yield upgrade + f"Expect: 100-continue\r\nContent-Length: {len(inner)}\r\n", inner
        yield upgrade + "Transfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner
        yield upgrade + "Transfer-Encoding: chunked\r\n", f"{len(inner):x}\r\n{inner}\r\n0\r\n\r\n"
        yield upgrade + "Transfer-Encoding: chunked\r\n", f"2;x=\"\r\n\"\r\nab\r\n0\r\n\r\n{inner}"
        yield upgrade + "Transfer-Encoding: chunked\r\n", f"1\r\na\r\n0\r\n{key}\r\n"
        yield upgrade + "Transfer-Encoding: chunked\r\nTrailer: X-Api-Key\r\n", f"0\r\n{key.replace('-', '_')}\r\n"
        yield upgrade + "Transfer-Encoding: chunked\r\n", f"0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{inner}"
        yield upgrade + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "0\r\n\r\n" + inner
        yield upgrade + "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" + inner
        yield upgrade + "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n" + inner
        yield upgrade + "Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n" + inner
        yield upgrade + "Connection: Content-Length\r\n" + f"Content-Length: {len(inner)}\r\n", inner
        yield upgrade + "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner


HOSTS = [LIMITED_HOST, LIMITED_HOST.upper(), LIMITED_HOST + ".", LIMITED_HOST + "..", LIMITED_HOST + ":80", LIMITED_HOST + ".:8080", LIMITED_HOST + ":",
         LIMITED_HOST + ":0", "%6c" + LIMITED_HOST[1:], LIMITED_HOST + "%2e", LIMITED_HOST + ";x", "x@" + LIMITED_HOST, "." + LIMITED_HOST,
         LIMITED_HOST + "/x", LIMITED_HOST + "%00", LIMITED_HOST + "#", LIMITED_HOST + "?", LIMITED_HOST + "\\", f"[{LIMITED_HOST}]",
         LIMITED_HOST + ",a", "a," + LIMITED_HOST, LIMITED_HOST + ":80:80", LIMITED_HOST + ":x", LIMITED_HOST + "&", LIMITED_HOST + "="]


@dataclasses.dataclass(frozen=True)
class Variant:
    head: bytes
    body: bytes  # with whatever follows it
    known: bool  # from the address whose buckets are empty, not from one that was never seen

    def __bytes__(self):
        return self.head + self.body


def request(target, fields, body="", host="a", method="GET", version="HTTP/1.1", known=False, variant=0):
    head = f"{method} {target} {version}\r\nHost: {host}\r\nX-Variant: {variant}\r\n{fields}\r\n"
    return Variant(head.encode("latin-1"), body.encode("latin-1"), known)


def parts():
    """Every variant as the arguments of request(); the plain requests are not among them."""
    for handler, (path, key) in PLAIN.items():
        for below in BELOW:
            for target in once(path + below):
                yield {"target": target, "fields": key, "known": True}
        for own in own_fields(handler):
            yield {"target": path, "fields": own}
        for other in other_fields():
            yield {"target": path, "fields": key + other}
            yield {"target": "/public", "fields": other + key}
        for method, version in itertools.product(("HEAD", "POST", "OPTIONS", "TRACE", "get", "CONNECT", "X"), ("HTTP/1.1", "HTTP/1.0", "HTTP/2.0")):
            yield {"target": path, "fields": key, "method": method, "version": version}
        for n in range(len(list(bodies(handler, 0)))):
            for target in (path, "/public", "/ws"):
                for with_key in (key, "") if key else ("",):
                    yield {"target": target, "fields": with_key, "hidden": (handler, n), "method": "GET" if n % 2 else "POST"}
    for host in HOSTS:
        for made in ({"host": host}, {"target": f"http://{host}/public"}, {"target": "http://a/public", "host": host},
                     {"target": f"http://{host}/public", "version": "HTTP/1.0"}, {"fields": f"X-Forwarded-Host: {host}\r\n"}):
            yield {"target": "/public", "fields": "", "known": True, **made}
        yield {"target": PLAIN["tenants"][0], "fields": "", "host": host}


def combined(random):
    """Paths and fields changed at once, and sometimes the host, the method and what follows."""
    handler = random.choice(list(PLAIN))
    path, key = PLAIN[handler]
    made = {"target": mixed(path + random.choice(BELOW), random), "fields": key, "known": random.random() < 0.5}
    if random.random() < 0.5:
        made["fields"] = random.choice(list(own_fields(handler)))
    if random.random() < 0.6:
        made["fields"] += random.choice(list(other_fields()))
    if random.random() < 0.15:
        made["hidden"] = (handler, random.randrange(len(list(bodies(handler, 0)))))
        made["method"] = random.choice(("GET", "POST", "PUT"))
    if random.random() < 0.1:
        made["host"] = random.choice(HOSTS)
    return made


def generate(seed, combinations):
    """Distinct variants in a fixed order: each change alone, then so many combinations."""
    source = random.Random(seed)
    seen = set()

    def build(made, n):
        made = dict(made)
        if "hidden" in made:
            handler, which = made.pop("hidden")
            fields, body = list(bodies(handler, n))[which]
            made.update(fields=made["fields"] + fields, body=body)
        return request(**made, variant=n)

    def is_new(made):
        known = build(made, 0)
        return known not in seen and not seen.add(known)

    out = []
    for made in parts():
        if is_new(made):
            out.append(build(made, len(out)))
    end = len(out) + combinations
    while len(out) < end:
        made = combined(source)
        if is_new(made):
            out.append(build(made, len(out)))
    return out
