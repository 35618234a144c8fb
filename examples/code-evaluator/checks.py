"""Checks of answers. A function has the parameters it needs: output, expected, row, history, answer."""

import re


def names_the_order(output, expected):
    """True or False is enough."""
    return expected in re.findall(r"#\d+", output)


def is_brief(output, row):
    """A score from 0 to 1, and why."""
    words = len(output.split())
    allowed = row["max_words"]
    return {"score": min(1.0, allowed / max(words, 1)), "pass": words <= allowed, "reason": f"{words} of {allowed} words"}
