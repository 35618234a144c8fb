"""Pairs of an output and a reference text, and what the reference implementations make of them.

Writes one JSON object per line: {"output", "reference", "scores": {evaluator: value}}. The same
pairs on every run of the same Python. The values are on the references' own scales.
"""

import json
import random
import re
import sys
from pydoc_data import topics

from rapidfuzz.distance import JaroWinkler, Levenshtein
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

RANDOM_PAIRS = 2000
REAL_PAIRS = 2000

SENTENCES = [
    "The capital of France is Paris.",
    "It was the best of times, it was the worst of times, it was the age of wisdom...",
    "All human beings are born free and equal in dignity and rights.",
    "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "人人生而自由，在尊严和权利上一律平等。",
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "The total comes to $1,234.50 (incl. 19% VAT), i.e. 3.5% more than in 2019-2020.",
    "He said: \"I can't -- won't! -- do that\", and left; didn't he?",
    "Use `x &lt; y &amp;&amp; y &gt; z`, or write &quot;x&quot; <skipped> instead.",
    "A word broken over a line-\nend is one word, a line\nend is not.",
    "Call me at 555-0123 or e-mail a.b@example.com, e.g. at 9:30.",
    "İstanbul'un nüfusu 15,5 milyondur; ΟΔΥΣΣΕΥΣ and ΣΊΣΥΦΟΣ met 5 K below.",
    "👩‍👩‍👧 family emoji, naïve café and nai\u0308ve cafe\u0301",
    "yes",
    "No.",
]

EDGES = ["", " ", "\n", "a", "b", ".", "1", "é", "\x1c", "ab", "ba", "a b", "...", "a" * 64, "ab" * 64, "x" * 65]

# Every kind of white space and every character class a tokenizer treats in its own way.
ALPHABET = list("abcdeABC  ..,,--01239'\"&;:<>/[]{}()!?$%^`~|\\_+=*#@\t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u2028\u3000éßżЖ中日👍\u0301")


def real_sentences():
    """English prose with names, numbers and code in it: the documentation Python brings along."""
    text = " ".join(topics.topics[name] for name in sorted(topics.topics))
    sentences = re.split(r"(?<=[.:!?])\s+", text)
    return [sentence for sentence in sentences if 20 <= len(sentence) <= 600]


def varied(text, chance):
    """The text as another writer might have put it: words lost, moved, doubled, changed."""
    words = text.split(" ")
    for _ in range(chance.randint(0, 1 + len(words) // 3)):
        at = chance.randrange(len(words))
        change = chance.choice(["drop", "double", "swap", "case", "letter", "new", "join"])
        if change == "drop" and len(words) > 1:
            del words[at]
        elif change == "double":
            words.insert(at, words[at])
        elif change == "swap":
            other = chance.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif change == "case":
            words[at] = words[at].swapcase()
        elif change == "letter" and words[at]:
            place = chance.randrange(len(words[at]))
            words[at] = words[at][:place] + chance.choice(ALPHABET) + words[at][place + 1 :]
        elif change == "new":
            words.insert(at, chance.choice(["the", "of", "3.14", "(see", "e.g.,", "well-known", "—", "и"]))
        elif change == "join":
            words[at : at + 2] = ["".join(words[at : at + 2])]
        words = words or [""]
    return " ".join(words)


def random_text(chance):
    length = chance.choice([1, 2, 3, 5, 10, 30, 63, 64, 65, 130, 300])
    letters = chance.sample(ALPHABET, chance.randint(2, len(ALPHABET)))
    return "".join(chance.choice(letters) for _ in range(chance.randint(0, length)))


def pairs():
    chance = random.Random(20261115)
    for output in EDGES:
        for reference in EDGES:
            yield output, reference
    for output in SENTENCES:
        for reference in SENTENCES:
            yield output, reference
    for _ in range(RANDOM_PAIRS):
        output = random_text(chance)
        yield output, varied(output, chance) if chance.random() < 0.6 else random_text(chance)
    sentences = SENTENCES + real_sentences()
    for _ in range(REAL_PAIRS):
        reference = chance.choice(sentences)
        yield varied(reference, chance), reference
    # Longer than a machine word, or a few of them, is another code path in edit distances.
    for _ in range(40):
        reference = " ".join(chance.choice(sentences) for _ in range(8))
        yield varied(reference, chance), reference


def main():
    bleu, chrf = BLEU(effective_order=True), CHRF()
    rouge = RougeScorer(["rouge1", "rouge2", "rougeL"])
    for output, reference in pairs():
        scores = {
            "levenshtein": Levenshtein.normalized_similarity(output, reference),
            "jaro_winkler": JaroWinkler.normalized_similarity(output, reference),
            "bleu": bleu.sentence_score(output, [reference]).score,
            "chrf": chrf.sentence_score(output, [reference]).score,
        }
        scores |= {name: score.fmeasure for name, score in rouge.score(reference, output).items()}
        json.dump({"output": output, "reference": reference, "scores": scores}, sys.stdout)
        sys.stdout.write("\n")


main()
