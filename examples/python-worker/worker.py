"""Example worker: a target that looks up capitals, and an evaluator that compares strings.

    python worker.py http://127.0.0.1:7373
"""

import difflib
import os
import sys
import time

from windrow_worker import Worker

worker = Worker("python-example")

CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima", "Kenya": "Nairobi", "Canada": "Toronto"}


@worker.target
def answer(row, config):
    began = time.monotonic()
    time.sleep(config.get("think_ms", 0) / 1000)
    log_call(row["country"], row.get("id"))
    content = CAPITALS.get(row["country"], "I do not know")
    return {
        "content": content,
        "model": config.get("model", "table"),
        "latency_ms": round((time.monotonic() - began) * 1000),
        "usage": {"tokens_in": 3, "tokens_out": len(content.split())},
    }


@worker.evaluator("similarity")
def similarity(output, row, config):
    value = difflib.SequenceMatcher(None, output, row["capital"]).ratio()
    return {"value": value, "pass": value >= config.get("threshold", 0.8), "reason": f"asked for {row['capital']!r}"}


def log_call(*call):
    """Appends each call to the file named by CALLS, so that tests can count the calls."""
    if path := os.environ.get("CALLS"):
        with open(path, "a") as calls:
            print(*call, file=calls)


if __name__ == "__main__":
    worker.run(sys.argv[1], api_key=os.environ.get("WINDROW_API_KEY"))
