#!/usr/bin/env python3
"""A small OpenAI-compatible endpoint for the examples. No model, no dependencies.

It knows the capitals of capitals.jsonl, gets some of them wrong on purpose (always the same ones),
and plays a shop's help desk for the conversation example.

    python3 endpoint.py [PORT]        PORT 0 picks a free one; the URL is printed first
"""

import json
import pathlib
import socket
import sys
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).parent
ROWS = map(json.loads, (HERE / "capitals.jsonl").read_text(encoding="utf-8").splitlines())
CAPITALS = {row["country"]: row["capital"] for row in ROWS}
WRONG = {"Australia": "Sydney", "Canada": "Toronto", "Turkey": "Istanbul", "Switzerland": "Zurich"}


def answer(messages):
    question = messages[-1]["content"]
    if question.startswith("Capital of "):
        country = question.removeprefix("Capital of ").rstrip("?")
        return WRONG.get(country) or CAPITALS.get(country, "I do not know")
    return help_desk(question, messages[:-1])


def help_desk(question, earlier):
    """Remembers the order number from earlier turns: without the history it cannot answer."""
    said = " ".join(m["content"] for m in earlier if m["role"] == "user") + " " + question
    order = next((word.strip(".,?!") for word in said.split() if word.startswith("#")), None)
    if order is None:
        return "Which order is it about? Please give me its number."
    if "cancel" in question.lower():
        return f"Order {order} is cancelled."
    return f"Order {order} is on its way and arrives on Friday."


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = request["messages"]
        text = answer(messages)
        # 20 to 80 ms, the same for the same question: a run looks the same every time.
        time.sleep(0.02 + zlib.crc32(messages[-1]["content"].encode()) % 60 / 1000)
        asked = sum(len(m["content"]) for m in messages)
        self.reply({
            "id": "example",
            "object": "chat.completion",
            "model": request.get("model", "any"),
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }],
            "usage": {"prompt_tokens": asked // 4 + 1, "completion_tokens": len(text) // 4 + 1},
        })

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "any", "object": "model"}]})

    def reply(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    address_family = socket.AF_INET


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8099
    server = Server(("127.0.0.1", port), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
