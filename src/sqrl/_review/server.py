"""The server of the review page: on loopback, for whoever has the token, with fixed routes alone.

What it refuses, and why:

    a wrong token       other users of the machine, and pages that guess the port
    another Host        a name that an attacker's DNS points to this machine (rebinding)
    another Origin      a page of another site that lets the browser send a step
    another type        steps are JSON, which no form can send
    a large body        a step has a few lines
    any other path      nothing is looked up in the file system
"""

import hmac
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import msgspec

from sqrl._review.assets import own_asset, review_script, review_style
from sqrl._review.session import Session, Step
from sqrl.errors import OutputError, SqrlError
from sqrl.report._page import embed_json, fill_page, hash_of

HOST = "127.0.0.1"
LARGEST_STEP = 1 << 20
SECONDS = 30  # that a connection may be silent
FIXED_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # no-referrer would make Origin null, too
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class RefusedError(Exception):
    """A request that is not answered: the status, and why in a few words."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class ReviewServer(ThreadingHTTPServer):
    """Serves one session to this machine alone."""

    allow_reuse_address = allow_reuse_port = False  # nobody else listens where we do

    def __init__(self, session: Session, *, port: int = 0) -> None:
        self.session, self.token = session, secrets.token_urlsafe(32)
        self.is_stopped = False
        style, script = review_style(), review_script() + own_asset("served.js")
        self.parts = {"body": own_asset("review_body.html"), "style": style, "script": script}
        self.policy = (
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            f"connect-src 'self'; style-src '{hash_of(style)}'; script-src '{hash_of(script)}'"
        )
        super().__init__((HOST, port), Handler)

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which a browser on this machine may call the server."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        """The address to open, with the token that every request needs."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def shutdown(self) -> None:
        """Stop, and answer nobody who is still connected: browsers connect ahead of asking."""
        self.is_stopped = True
        super().shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that broke: a browser opens and drops them as it likes."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def open_server(session: Session, *, port: int = 0) -> ReviewServer:
    """A server that listens, on a free port unless one is given."""
    try:
        return ReviewServer(session, port=port)
    except OSError as error:
        raise OutputError(
            f"The page cannot be served at {HOST}:{port}: {error.strerror or error}.",
            fix="choose another port with --port, or leave it out",
        ) from None


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ReviewServer
    timeout = SECONDS

    def do_GET(self) -> None:
        """The page, or what there is to know of one rule."""
        self._answer({"": self._page, "rule": self._rule})

    def do_POST(self) -> None:
        """A step that a person takes."""
        self._answer({"step": self._step})

    def _refuse_method(self) -> None:
        self._answer({})

    do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do_TRACE = _refuse_method  # noqa: N815
    do_CONNECT = _refuse_method  # noqa: N815

    def _answer(self, routes: dict[str, Any]) -> None:
        if self.server.is_stopped:
            return
        try:
            route, query = self._checked_route()
            if route not in routes:
                known = {"", "rule", "step"}
                raise RefusedError(405 if route in known else 404, "not found here")
            kind, content = routes[route](query)
            self._send(200, kind, content)
        except RefusedError as refusal:
            self.send_error(refusal.status, refusal.why)
        except SqrlError as error:
            self.send_error(400, str(error))

    def _checked_route(self) -> tuple[str, str]:
        """What is asked for, after the token; raises for whoever has no business here."""
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            raise RefusedError(403, "this server answers to its own address alone")
        path, _, query = self.path.partition("?")
        token, slash, route = path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            raise RefusedError(404, "not found")
        is_ours = self.headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
        if not is_ours and (route or self.headers.get("Sec-Fetch-Dest") != "document"):
            raise RefusedError(403, "a page of another site asked for this")
        return route, query

    def _page(self, _: str) -> tuple[str, bytes]:
        parts = self.server.parts | {"data": embed_json(self.server.session.page_data())}
        return "text/html", fill_page(own_asset("review.html"), parts)

    def _rule(self, query: str) -> tuple[str, bytes]:
        wanted = parse_qs(query).get("id", [""])[0]
        return "application/json", msgspec.json.encode(self.server.session.rule(wanted))

    def _step(self, _: str) -> tuple[str, bytes]:
        origins = [f"http://{host}" for host in self.server.hosts]
        if self.headers.get("Origin") not in origins:
            raise RefusedError(403, "a step is taken on the page itself")
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(415, "a step is JSON")
        try:
            step = msgspec.json.decode(self._body(), type=Step)
        except msgspec.DecodeError as error:
            raise RefusedError(400, f"this is no step: {error}") from None
        return "application/json", msgspec.json.encode(self.server.session.step(step))

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or "Transfer-Encoding" in self.headers:
            raise RefusedError(411, "a step says how long it is")
        if len(length) > 12 or int(length) > LARGEST_STEP:
            raise RefusedError(413, f"a step has at most {LARGEST_STEP:,} bytes")
        return self.rfile.read(int(length))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Say why a request is refused, also where it is refused before it comes to a route."""
        self._send(code, "application/json", msgspec.json.encode({"error": message or "refused"}))

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response_only(status)  # without the headers that name the server
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", self.server.policy)
        for name, value in FIXED_HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address has the token in it."""
