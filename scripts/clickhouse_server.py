"""A current ClickHouse for the tests: the engine of the PyPI package chdb-core behind ClickHouse's HTTP interface.

  clickhouse_server.py PORT FOLDER

Debian's own package is from 2018. This server speaks what the tests need: GET /ping, a statement in the query
parameter `query` or in the body (after `query`: its data), the parameter `database`, settings as further parameters,
the account windrow with the password windrow, and gzip. One statement runs at a time.
"""

import base64
import gzip
import signal
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import chdb

ACCOUNT = "Basic " + base64.b64encode(b"windrow:windrow").decode()
OWN = {"query", "database", "user", "password", "wait_end_of_query", "default_format"}


class Engine:
    def __init__(self, folder):
        self.connection = chdb.connect(folder)
        self.lock = threading.Lock()

    def perform(self, statement, database, settings, format):
        with self.lock:
            self.connection.query(f"USE {database}")
            try:
                for name, value in settings.items():
                    self.connection.query(f"SET {name} = '{value.replace(chr(39), chr(39) * 2)}'")
                return self.connection.query(statement, format).bytes() or b""
            finally:
                for name in settings:
                    self.connection.query(f"SET {name} = DEFAULT")

    def close(self):
        with self.lock:
            self.connection.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without this, an answer waits 40 ms for the acknowledgement of its head.
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/ping":
            return self.answer(200, b"Ok.\n")
        self.statement(b"")

    def do_POST(self):
        self.statement(self.body())

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b"".join(iter(self.chunk, b""))
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def chunk(self):
        size = int(self.rfile.readline().split(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def statement(self, body):
        parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True))
        if not self.is_signed_in(parameters):
            return self.answer(403, b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)")
        settings = {name: value for name, value in parameters.items() if name not in OWN}
        text = "\n".join(part for part in [parameters.get("query", ""), body.decode()] if part)
        format = parameters.get("default_format", "TabSeparated")
        try:
            answer = self.server.engine.perform(text, parameters.get("database", "default"), settings, format)
        except Exception as error:
            return self.answer(404 if "UNKNOWN_TABLE" in str(error) else 500, str(error).encode())
        self.answer(200, answer)

    def is_signed_in(self, parameters):
        named = parameters.get("user"), parameters.get("password")
        return self.headers.get("Authorization") == ACCOUNT or named == ("windrow", "windrow")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # Tests kill clients in the middle of a request.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main(port, folder):
    server = Server(("127.0.0.1", int(port)), Handler)
    server.daemon_threads = True
    server.engine = Engine(folder)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()
    server.engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
