"""Rows of groups that differ, and tables of them."""

import csv

import numpy as np


def grouped_rows(rng, n=6000):
    """Scores that are right but for BR; every 50th row has no country."""
    scores, country = rng.random(n), rng.choice(["BR", "DE", "007"], n)
    outcomes = rng.random(n) < np.where(country == "BR", scores**2, scores)
    country[::50] = ""
    return scores, outcomes.astype(int), country


def write_csv(path, scores, outcomes, country):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "outcome", "country", "id"])
        writer.writerows(zip(scores, outcomes, country, range(scores.size), strict=True))
    return path
