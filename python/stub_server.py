"""A server for tests, on a port of 127.0.0.1 that is free: what it is asked is kept, and what it answers is said beforehand."""

import collections
import http.server
import json
import ssl
import threading

Request = collections.namedtuple("Request", "method path headers body")


class Answer:
    """A status, fields and a body of bytes or JSON; or `write`, which is called with the connection's file and sends what it likes
    (the head too)."""

    def __init__(self, status=200, body=b"", headers=(), write=None):
        self.status, self.headers, self.write = status, dict(headers), write
        if not isinstance(body, bytes):
            body, self.headers = json.dumps(body).encode(), {"Content-Type": "application/json", **self.headers}
        self.body = body


def error(status, message, hint=None, headers=()):
    return Answer(status, {"error": {"status": status, "message": message, "hint": hint}}, headers)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_):
        pass

    def _serve(self):
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(self.command, self.path, dict(self.headers.items()), body)
        self.server.requests.append(request)
        answer = self.server.answer_to(request)
        if answer.write is not None:
            answer.write(self.wfile)
            return
        self.send_response(answer.status)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = _serve


class StubServer:
    """Answers by path, without the query: one answer, a list of them (the last stays), or a function of the request. 404 for others."""

    def __init__(self, answers, address="127.0.0.1", certificate=None):
        self.answers = answers
        self._http = http.server.ThreadingHTTPServer((address, 0), _Handler)
        self._http.daemon_threads = True
        self._http.requests = self.requests = []
        self._http.answer_to = self._answer_to
        self._http.handle_error = lambda *_: None  # a client that goes
        self.port = self._http.server_address[1]
        self.url = f"http://{address}:{self.port}"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
            self.url = f"https://{address}:{self.port}"

    def _answer_to(self, request):
        found = self.answers.get(request.path.partition("?")[0], error(404, "there is no such thing"))
        if callable(found):
            return found(request)
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found

    def __enter__(self):
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
