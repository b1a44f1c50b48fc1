"""What every answer carries to a browser on a public address, and what is kept from outside.

Streamlit writes scripts and styles in place, so a policy cannot forbid these; it keeps scripts,
pictures and connections to the app itself, and other sites from framing it. The app evaluates no
text as a script, but what drives a browser in tests does (Playwright's waits), so that is allowed.
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse

from planner.web.options import Options

POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "frame-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
METRICS = "/_stcore/metrics"


def policy(embed: tuple[str, ...]) -> str:
    """The content security policy. embed: the sites that may frame the app besides itself."""
    rules = {**POLICY, "frame-ancestors": " ".join(("'self'", *embed))}
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class Guard:
    """ASGI middleware: headers against sniffing and framing, and a closed metrics path.

    base: the path below which the app is, as Streamlit's `server.baseUrlPath` has it.
    """

    def __init__(self, app, options: Options, base: str = ""):
        self.app, self.options = app, options
        self.base = f"/{base.strip('/')}" if base.strip("/") else ""
        self.headers = {
            "content-security-policy": policy(options.embed),
            "x-content-type-options": "nosniff",
            "referrer-policy": "strict-origin-when-cross-origin",
        }
        if not options.embed:
            self.headers["x-frame-options"] = "SAMEORIGIN"

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        path = scope.get("path", "")
        if path.rstrip("/").endswith(METRICS) and not self.options.metrics:
            return await PlainTextResponse("Not Found", 404)(scope, receive, send)
        api = path[len(self.base) :].lower()
        if path.startswith(self.base) and (api == "/api" or api.startswith("/api/")):
            # However its first part is written, it is the API, which answers in JSON.
            path = f"{self.base}/api{path[len(self.base) + 4 :] or '/'}"
            scope = {**scope, "path": path, "raw_path": path.encode()}

        async def sent(message):
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        return await self.app(scope, receive, sent)


def app_address(scope, options: Options, base: str = "") -> str:
    """Where the app is for whoever asked, ending in “/”.

    The address that the options name. Without one, what a request says of its host is believed only
    where that is this machine or its own network; else the address begins at the path, since
    anyone can send any Host, and a cache would hand it on.
    """
    if options.address:
        return options.address
    path = f"/{base.strip('/')}/" if base.strip("/") else "/"
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    return f"{scope['scheme']}://{host}{path}" if _near(host) else path


def _near(host):
    """Whether a host of a request is this machine or one of its own network."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port
        if parts.netloc != host or "@" in host:
            return False
        return name == "localhost" or ipaddress.ip_address(name).is_private
    except ValueError:
        return False
