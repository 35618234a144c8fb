"""Paired data, and what scipy, statsmodels and krippendorff make of them: one JSON object per line. The same on every run."""

import json
import random

import krippendorff
import numpy
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

random.seed(20)


def say(**case):
    print(json.dumps(case))


for n in [2, 3, 7, 12, 30, 200]:
    before = [round(random.random(), 3) for _ in range(n)]
    after = [round(min(1, max(0, b + random.gauss(0.03, 0.1))), 3) for b in before]
    test = stats.ttest_rel(after, before)
    interval = test.confidence_interval(0.95)
    exact = None
    if n <= 12:
        mean = lambda a, b, axis: numpy.mean(a - b, axis=axis)
        found = stats.permutation_test((numpy.array(after), numpy.array(before)), mean, permutation_type="samples",
                                       n_resamples=numpy.inf, vectorized=True)
        exact = float(found.pvalue)
    else:
        rng = numpy.random.default_rng(1)
        mean = lambda a, b, axis: numpy.mean(a - b, axis=axis)
        found = stats.permutation_test((numpy.array(after), numpy.array(before)), mean, permutation_type="samples",
                                       n_resamples=50_000, vectorized=True, rng=rng, batch=1000)
        exact = float(found.pvalue)
    say(kind="scores", before=before, after=after, p=float(test.pvalue), low=float(interval.low),
        high=float(interval.high), permutation=exact, exact=n <= 12)

for n in [5, 20, 100, 400]:
    before = [int(random.random() < 0.7) for _ in range(n)]
    after = [b if random.random() < 0.8 else int(random.random() < 0.6) for b in before]
    table = [[0, 0], [0, 0]]
    for b, a in zip(before, after):
        table[b][a] += 1
    say(kind="verdicts", before=before, after=after, p=float(mcnemar(table, exact=True).pvalue))

for m in [1, 2, 5, 20]:
    values = [random.random() ** 3 for _ in range(m)]
    say(kind="holm", values=values, adjusted=[float(p) for p in multipletests(values, method="holm")[1]])

for n, k in [(10, 0), (10, 7), (400, 399), (33, 11)]:
    low, high = proportion_confint(k, n, alpha=0.05, method="wilson")
    say(kind="wilson", n=n, k=k, low=float(low), high=float(high))

for n in [6, 25, 150]:
    judge = [int(random.random() < 0.6) for _ in range(n)]
    person = [j if random.random() < 0.75 else 1 - j for j in judge]
    table = [[0, 0], [0, 0]]
    for j, p in zip(judge, person):
        table[j][p] += 1
    alpha = krippendorff.alpha(reliability_data=[judge, person], level_of_measurement="nominal")
    say(kind="raters", judge=judge, person=person, kappa=float(cohens_kappa(table).kappa), alpha=float(alpha))
    values = [round(random.random(), 2) for _ in range(n)]
    theirs = [round(v + random.gauss(0, 0.1), 2) for v in values]
    alpha = krippendorff.alpha(reliability_data=[values, theirs], level_of_measurement="interval")
    say(kind="values", judge=values, person=theirs, alpha=float(alpha))
