"""Files as the paper's authors published them."""

import pickle

import numpy as np

from ogive.calibrators.scaling import odir

NAME = "probs_resnet110_c10_logits.p"


def write(path, file):
    cal = file["cal_logits"], file["cal_labels"][:, None]
    test = file["test_logits"], file["test_labels"][:, None]
    path.write_bytes(pickle.dumps((cal, test)))


def outputs(rng):
    """Logits that are three times too sure, and labels, of both parts."""

    def part(n):
        logits = 4.0 * rng.normal(size=(n, 10))
        labels = (logits / 3 + rng.gumbel(size=(n, 10))).argmax(axis=1)
        return logits.astype(np.float32), labels

    cal, test = part(400), part(500)
    return dict(cal_logits=cal[0], cal_labels=cal[1], test_logits=test[0], test_labels=test[1])


def shrink_grid(monkeypatch):
    """Two strengths instead of ODIR's whole grid, which takes minutes."""
    grid = np.array([1.0, 0.1]), np.array([0.01])
    monkeypatch.setattr(odir, "_grid", lambda *_: grid)
