"""A proxy before a server, which writes down what is said, and can spoil the tokens that a client sends."""

import http.client
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade"}
TOKEN = re.compile(rb"(<(?:\w+:)?sync-token(?:\s[^>]*)?>)([^<]+)(</)")
SHOWN = 6000


class Proxy:
    """Listens on a port of 127.0.0.1 while it is entered."""

    def __init__(self, host, port, own_port, log):
        self.upstream = (host, port)
        self.spoils = False
        self.spoilt = 0
        self.refused = []
        self.log = open(log, "a", encoding="utf-8")
        self.lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return lambda: proxy.forward(self)
                raise AttributeError(name)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", own_port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{own_port}/"
        self.port = own_port

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()
        self.log.close()

    def forward(self, request):
        body = read_body(request)
        is_spoilt = False
        if self.spoils and request.command == "REPORT":
            body, count = TOKEN.subn(rb"\1http://example.org/never-given/1\3", body)
            is_spoilt = count > 0
            self.spoilt += count
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        if body or request.command in ("PUT", "POST", "REPORT", "PROPFIND"):
            headers["Content-Length"] = str(len(body))
        connection = http.client.HTTPConnection(*self.upstream, timeout=120)
        try:
            connection.request(request.command, request.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        with self.lock:
            if is_spoilt:
                self.refused.append(answer.status)
            self.write(request, body, answer, data)
        request.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(data)

    def write(self, request, body, answer, data):
        heads = [name for name in request.headers.items() if name[0].lower() not in ("authorization", "cookie")]
        shown = [f">>> {request.command} {request.path}", *(f"{name}: {value}" for name, value in heads), ""]
        shown += [text(body), f"<<< {answer.status} {answer.reason}"]
        shown += [f"{name}: {value}" for name, value in answer.getheaders()] + ["", text(data), "", ""]
        self.log.write("\n".join(shown))
        self.log.flush()


def text(data):
    shown = data[:SHOWN].decode("utf-8", "replace")
    return shown + (f" ... ({len(data)} bytes)" if len(data) > SHOWN else "")


def read_body(request):
    """Returns a request's body, whether its length was told or it came in chunks."""
    if request.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    parts = []
    while size := int(request.rfile.readline().split(b";")[0], 16):
        parts.append(request.rfile.read(size))
        request.rfile.readline()
    while request.rfile.readline().strip():
        pass
    return b"".join(parts)
