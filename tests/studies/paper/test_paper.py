import csv
import importlib.resources
import json
import pickle

import numpy as np
import pytest
from scipy.special import softmax

from ogive import Predictions
from ogive.studies.paper import study
from ogive.studies.paper.cells import Bench, Key, recalibrated
from ogive.studies.paper.files import find_copies, paper_files, read_rows
from ogive.studies.paper.study import METHODS, paper_tables
from tests import naive
from tests.studies.paper.pickles import NAME, outputs, shrink_grid, write

QUICK = ("uncalibrated", "temperature", "vector", "spline")
COLUMNS = {"ks-top1": 6, "ks-top2": 6, "ks-within-top2": 7, "ece25-top1": 7, "accuracy": 6}

pytestmark = pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")


def read(path, part):
    """Read one of the files that these tests wrote themselves."""
    cal, test = pickle.loads(path.read_bytes())  # noqa: S301
    values, labels = cal if part == "cal" else test
    return Predictions(values, labels.reshape(-1), kind="logits")


@pytest.fixture
def sample(rng):
    return outputs(rng)


@pytest.fixture
def small_grid(monkeypatch):
    shrink_grid(monkeypatch)


def test_the_papers_numbers_are_all_there():
    rows = read_rows("paper_tables.csv")
    assert all(float(row["value"]) >= 0 for row in rows if row["status"] == "published")
    assert {row["method"] for row in rows} == set(METHODS)
    files = {(file.dataset, file.model) for file in paper_files()}
    assert {(row["dataset"], row["model"]) for row in rows} == files
    values = {
        (row["metric"], row["method"]): row["value"]
        for row in rows
        if (row["dataset"], row["model"], row["status"]) == ("CIFAR-10", "Resnet-110", "published")
    }
    assert values["ks-top1-percent", "spline"] == "0.643"
    assert values["accuracy-percent", "vector"] == "93.50"


def test_the_published_top_2_of_ms_odir_contradicts_its_neighbours():
    """The end gaps of top-1 and top-2 add up to that of within-top-2: see docs/paper.md."""
    text = (importlib.resources.files("ogive") / "data" / "paper_tables.csv").read_text()
    triples = {}
    for row in csv.DictReader(text.splitlines()):
        if row["metric"].startswith("ks-") and row["status"] == "published":
            net = row["dataset"], row["model"], row["method"]
            triples.setdefault(net, {})[row["metric"]] = float(row["value"])
    names = ("ks-top1-percent", "ks-top2-percent", "ks-within-top2-percent")
    broken = []
    for net, of in triples.items():
        if net[2] != "spline" and all(name in of for name in names):
            first, second, within = (of[name] for name in names)
            broken.append((round(abs(first - second) - within, 3), net))
    worst = sorted(broken, reverse=True)
    assert len(broken) == 65
    assert sum(by > 0 for by, _ in broken) == 11
    assert sum(by > 0.05 for by, _ in broken) == 7
    assert [by for by, _ in worst[:5]] == [0.68, 0.459, 0.239, 0.116, 0.08]
    assert {net[2] for _, net in worst[:3]} == {"ms-odir"}
    assert worst[2][1] == ("CIFAR-10", "Resnet-110", "ms-odir")


def test_every_table_has_all_its_columns(tmp_path, sample, small_grid):
    write(tmp_path / NAME, sample)
    tables = paper_tables(tmp_path, read=read)
    counts = {}
    for cell in tables.cells:
        counts[cell.metric] = counts.get(cell.metric, 0) + 1
        assert (cell.dataset, cell.model) == ("CIFAR-10", "Resnet-110")
    assert counts == COLUMNS
    text = repr(tables)
    for words in ("KS error, top-1 (%)", "14 knots", "not printed", "Assumptions:", *METHODS):
        assert words in text


def test_the_json_is_plain_and_in_fractions(tmp_path, sample):
    write(tmp_path / NAME, sample)
    tables = paper_tables(tmp_path, read=read, methods=["uncalibrated", "spline"])
    document = json.loads(json.dumps(tables.to_dict(), allow_nan=False))
    first = document["tables"][0]
    assert first.keys() >= {"metric", "dataset", "model", "method", "paper", "here", "difference"}
    assert first["paper"] == pytest.approx(0.0475)
    assert all(0 <= cell["here"] <= 1 for cell in document["tables"])
    assert len(document["missing"]) == len(paper_files()) - 1
    assert "github.com/markus93/NN_calibration" in document["missing"][0]["where"]
    assert document["files"] == [{"path": str(tmp_path / NAME), "published": False}]


def test_a_file_is_known_by_its_sha256_under_any_name(tmp_path, sample, monkeypatch):
    write(tmp_path / "renamed.bin", sample)
    assert find_copies(tmp_path) == []
    import hashlib

    content = (tmp_path / "renamed.bin").read_bytes()
    known = paper_files()[2]
    mine = type(known)(
        known.dataset,
        known.model,
        known.path,
        hashlib.sha256(content).hexdigest(),
        len(content),
    )
    monkeypatch.setattr("ogive.studies.paper.files.paper_files", lambda: (mine,))
    (copy,) = find_copies(tmp_path)
    assert copy.published
    assert copy.path.name == "renamed.bin"


def test_the_published_copy_is_preferred_to_one_that_has_only_the_name(tmp_path, monkeypatch):
    import hashlib

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / NAME).write_bytes(b"other")
    (tmp_path / NAME).write_bytes(b"right")
    known = next(file for file in paper_files() if file.name == NAME)
    digest = hashlib.sha256(b"right").hexdigest()
    mine = type(known)(known.dataset, known.model, known.path, digest, 5)
    monkeypatch.setattr("ogive.studies.paper.files.paper_files", lambda: (mine,))
    (copy,) = find_copies(tmp_path)
    assert copy.path == tmp_path / NAME


def test_a_run_resumes_where_it_stopped(tmp_path, sample):
    write(tmp_path / NAME, sample)
    cache = tmp_path / "results.json"
    reads = []

    def counting(path, part):
        reads.append(part)
        return read(path, part)

    first = paper_tables(tmp_path, read=counting, methods=QUICK[:2], cache=cache)
    assert len(reads) == 4
    again = paper_tables(tmp_path, read=counting, methods=QUICK, cache=cache)
    assert len(reads) == 8  # only vector and spline were new
    assert set(first.cells) < set(again.cells)
    whole = paper_tables(tmp_path, read=read, methods=QUICK)
    assert whole.cells == again.cells
    sample["cal_labels"] = sample["cal_labels"][::-1]  # another file under the same name
    write(tmp_path / NAME, sample)
    changed = paper_tables(tmp_path, read=counting, methods=QUICK[:2], cache=cache)
    assert len(reads) == 12
    assert changed.cells != first.cells


def test_a_run_that_breaks_off_leaves_what_it_has(tmp_path, sample, monkeypatch):
    write(tmp_path / NAME, sample)
    cache = tmp_path / "results.json"
    measure = Bench.measure

    def breaks(self, method, keys, **options):
        if method == "vector":
            raise KeyboardInterrupt
        return measure(self, method, keys, **options)

    monkeypatch.setattr(Bench, "measure", breaks)
    with pytest.raises(KeyboardInterrupt):
        paper_tables(tmp_path, read=read, methods=QUICK, cache=cache)
    assert len(cache.read_text().splitlines()) == 1 + 2


def test_progress_tells_what_is_worked_on(tmp_path, sample, small_grid):
    write(tmp_path / NAME, sample)
    seen = []
    paper_tables(
        tmp_path,
        read=read,
        methods=["temperature", "ms-odir"],
        progress=lambda *at: seen.append(at),
    )
    assert seen[0] == (f"{NAME} temperature", 0, 2)
    assert (f"{NAME} ms-odir", 1.5, 2) in seen
    assert seen[-1] == ("done", 2, 2)
    assert [at[1] for at in seen] == sorted(at[1] for at in seen)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "does not hold results"), ('{"format": "other"}', "does not hold results")],
)
def test_a_foreign_cache_is_refused_and_left_alone(tmp_path, sample, content, message):
    write(tmp_path / NAME, sample)
    cache = tmp_path / "results.json"
    cache.write_text(content)
    with pytest.raises(ValueError, match=message):
        paper_tables(tmp_path, read=read, cache=cache)
    assert cache.read_text() == content


def test_results_of_another_version_are_computed_anew(tmp_path, sample, monkeypatch):
    write(tmp_path / NAME, sample)
    cache = tmp_path / "results.json"
    paper_tables(tmp_path, read=read, methods=["uncalibrated"], cache=cache)
    monkeypatch.setattr("ogive.__version__", "0.0.0")
    paper_tables(tmp_path, read=read, methods=["uncalibrated"], cache=cache)
    first, second = (json.loads(line)["key"] for line in cache.read_text().splitlines()[1:])
    assert first[:-1] == second[:-1]
    assert second[-1] == "0.0.0" != first[-1]


def test_a_folder_without_files_lists_all_of_them_as_missing(tmp_path):
    tables = paper_tables(tmp_path, read=read)
    assert tables.cells == ()
    assert len(tables.missing) == len(paper_files())
    assert "logits/probs_lenet5_c100_logits.p" in repr(tables)


def test_wrong_arguments_say_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match="is not a folder"):
        paper_tables(tmp_path / "none", read=read)
    with pytest.raises(ValueError, match="unknown method 'tempreature'"):
        paper_tables(tmp_path, read=read, methods=["tempreature"])


def test_cells_equal_the_slow_definitions(sample):
    cal = Predictions(sample["cal_logits"], sample["cal_labels"], kind="logits")
    test = Predictions(sample["test_logits"][:60], sample["test_labels"][:60], kind="logits")
    bench = Bench(cal, test)
    keys = [Key("ks-top2", "temperature", None), Key("accuracy", "temperature", None)]
    values = bench.measure("temperature", keys)
    b = naive.temperature(sample["cal_logits"].astype(float), sample["cal_labels"])
    z = sample["test_logits"][:60].astype(float)
    p = softmax(b * z, axis=1)
    scores, hits = naive.scores_and_hits("top-2", z, p, test.labels)
    assert values[keys[0]] == pytest.approx(naive.ks(scores, hits), abs=1e-6)
    assert values[keys[1]] == (z.argmax(axis=1) == test.labels).mean()


def test_a_recalibrated_curve_has_the_same_rows(sample):
    from ogive import Curve, fit_paper_spline

    cal = Predictions(sample["cal_logits"], sample["cal_labels"], kind="logits")
    curve = Curve.from_predictions(cal, "top-1")
    gamma = fit_paper_spline(curve)
    moved = recalibrated(gamma, curve)
    assert (moved.n, moved.total_hits, moved.view) == (curve.n, curve.total_hits, "top-1")
    direct = Curve.from_scores(gamma.from_log_odds(curve.log_odds), curve.hits > 0, view="top-1")
    assert (curve.count == 1).all()
    np.testing.assert_allclose(moved.gap[-1], direct.gap[-1], atol=1e-12)
    np.testing.assert_allclose(np.abs(moved.gap).max(), np.abs(direct.gap).max(), atol=1e-12)


def test_the_assumptions_are_stated():
    text = " ".join(study.ASSUMPTIONS)
    for words in ("MCE", "Equal scores", "interpolated", "seed 15"):
        assert words in text


def test_the_papers_row_comes_out(tmp_path, arena):
    write(tmp_path / NAME, arena("paper_resnet110_c10"))
    tables = paper_tables(tmp_path, read=read, methods=QUICK)
    here = {(c.metric, c.method, c.knots): 100 * c.here for c in tables.cells}
    for key, value, tolerance in [
        (("ks-top1", "uncalibrated", None), 4.750, 0.001),
        (("ks-top2", "uncalibrated", None), 3.011, 0.002),
        (("ks-within-top2", "uncalibrated", None), 1.805, 0.001),
        (("ece25-top1", "uncalibrated", None), 4.750, 0.001),
        (("accuracy", "uncalibrated", None), 93.56, 0.001),
        (("ks-top1", "temperature", None), 0.916, 0.005),
        (("ks-top2", "temperature", None), 0.947, 0.005),
        (("ks-within-top2", "temperature", None), 0.097, 0.005),
        (("ece25-top1", "temperature", None), 1.224, 0.005),
        (("ks-top1", "vector", None), 0.996, 0.1),
        (("accuracy", "vector", None), 93.50, 0.001),
        (("ks-top1", "spline", 6), 0.643, 0.01),
        (("ks-top2", "spline", 6), 0.347, 0.05),
        (("ks-within-top2", "spline", 14), 0.277, 0.06),
        (("ks-within-top2", "spline", 6), 0.742, 0.005),
        (("ece25-top1", "spline", 13), 1.011, 0.1),
        (("ece25-top1", "spline", 6), 1.281, 0.03),
        (("accuracy", "spline", None), 93.55, 0.02),
    ]:
        assert here[key] == pytest.approx(value, abs=tolerance), key
