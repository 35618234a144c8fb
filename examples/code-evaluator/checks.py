"""Evaluators for answers. A function declares the parameters it needs: output, expected, row, history, answer."""

import re


def names_the_order(output, expected):
    """Returns a verdict: True or False."""
    return expected in re.findall(r"#\d+", output)


def is_brief(output, row):
    """Returns a score from 0 to 1, a verdict and a reason."""
    words = len(output.split())
    allowed = row["max_words"]
    return {"score": min(1.0, allowed / max(words, 1)), "pass": words <= allowed, "reason": f"{words} of {allowed} words"}
