"""What every cluster engine must do as the local one does."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ogive import Curve, fit_groups, ks_error, save
from ogive.engines import local
from ogive.errors import FileFormatError, InvalidInput
from ogive.metrics.bracket import brackets
from ogive.studies.apply_log import apply_log
from ogive.studies.group_fitting import curves_by_group
from tests.engines.logs import spoiled, write_log

PLAIN = ["score", "outcome", "country"]


def _matrix(K, name="logit", kind=float):
    return pa.table({f"{name}_{k}": np.full(4, 1 / K, kind) for k in range(K)} | {"label": [0] * 4})


def _scores(**more):
    return pa.table({"score": [0.5] * 4, "outcome": [0, 1, 0, 1]} | more)


def _lists(K):
    return pa.table({"logits": [[0.5] * K] * 4, "label": [0] * 4})


#: Pairs of files that are no log together, and what the error says.
UNLIKE = [
    (lambda: (_matrix(3), _matrix(4)), "`logit_2`, but .*`logit_3`"),
    (lambda: (_matrix(3), _matrix(3, "prob")), "has logits, but .* has probs"),
    (lambda: (_matrix(3), _scores()), "has logits, but .* has scores"),
    (lambda: (_lists(3), _lists(4)), "has 3 classes, but .* has 4 classes"),
    (lambda: (_matrix(3), _lists(3)), "has logits in `logit_0` … .* has logits in `logits`"),
    (lambda: (_scores(), _scores(weight=[1.0] * 4)), "no column of weights, but .* `weight`"),
    (lambda: (_scores(part=["cal"] * 4), _scores()), "a column `part`, but .* no column of parts"),
    (lambda: (_scores(), _scores().drop_columns("outcome")), "no column of the truth"),
    (lambda: (_scores(), _scores().set_column(0, "score", [["x"] * 4])), "numbers in .* text in"),
]


class AsLocal:
    """Tests for a module's fixtures: `table`, and `cluster`, its engine and where that runs."""

    @pytest.mark.parametrize(("files", "row_group"), [(1, 9999), (1, 100), (7, 300), (40, 50)])
    def test_the_same_curve_in_any_partitioning(
        self, cluster, table, tmp_path, files, row_group, monkeypatch
    ):
        monkeypatch.setattr("ogive.engines.formats.PIECE", 500)  # several pieces in a file
        engine, where = cluster
        plain = table.select(PLAIN)
        want = local.curve(write_log(tmp_path / "one", plain, 2), bits=7, one_pass=True)
        log = write_log(tmp_path / "log", plain, files, row_group)
        found = engine.curve(log, bits=7, one_pass=True, **where)
        assert found.summary() == want.summary()
        assert found == local.curve(log, bits=7, one_pass=True)

    def test_days_and_their_groups(self, cluster, table, tmp_path):
        engine, where = cluster
        days = pa.array([f"2026-05-{1 + i % 3:02d}T0{i % 9}:00" for i in range(table.num_rows)])
        log = write_log(tmp_path / "log", table.select(PLAIN).append_column("at", days), 3)
        how = {"by": "at,country", "every": "day", "one_pass": True}
        found = engine.read_log(log, **how, **where).by_group
        assert found == local.read_log(log, **how).by_group
        assert {name.partition(" ")[0] for name in found} == {f"2026-05-0{i}" for i in (1, 2, 3)}

    def test_the_second_pass_makes_ks_exact(self, cluster, table, tmp_path):
        engine, where = cluster
        log = write_log(tmp_path / "log", table.select(PLAIN), 5)
        whole = ks_error(Curve.from_scores(table["score"], table["outcome"]))
        reading = engine.read_log(log, bits=5, **where)
        assert reading.passes == 2
        assert ks_error(reading.curve) == pytest.approx(whole, abs=1e-12)
        low, high = brackets(engine.curve(log, bits=5, one_pass=True, **where))["ks"]
        assert low <= whole <= high
        assert high > low

    def test_groups(self, cluster, table, tmp_path):
        engine, where = cluster
        log = write_log(tmp_path / "log", table.select(PLAIN), 5)
        found = engine.group_curves(str(log / "*.parquet"), "country", bits=6, **where)
        want = local.group_curves(log, "country", bits=6)
        assert list(found) == list(want) == ["(none)", "DE", "FR", "IT", "PL", "SE"]
        for name, mine in found.items():
            assert mine.summary() == want[name].summary()
            assert ks_error(mine) == ks_error(want[name])

    def test_groups_of_several_columns_up_to_a_depth(self, cluster, table, tmp_path):
        """All rows, each column and their pairs, in the passes that the pairs alone take."""
        engine, where = cluster
        half = pa.array(np.where(np.arange(table.num_rows) % 3, "a", "b"))
        log = write_log(tmp_path / "log", table.select(PLAIN).append_column("half", half), 4)
        both = {"by": "country,half", "bits": 6}
        found = engine.read_log(str(log / "*.parquet"), **both, depth=2, **where)
        alone = engine.read_log(str(log / "*.parquet"), **both, **where)
        assert found.passes == alone.passes
        curves, cells = found.by_group, alone.by_group
        country = local.group_curves(log, "country", bits=6)
        assert set(curves) == {"", *cells, *(f"{c} | *" for c in country), "* | a", "* | b"}
        assert curves[""].n == table.num_rows
        for name, want in {**cells, **{f"{c} | *": one for c, one in country.items()}}.items():
            assert ks_error(curves[name]) == pytest.approx(ks_error(want), abs=1e-12)
            assert (curves[name].n, curves[name].hits.sum()) == (want.n, want.hits.sum())

    @pytest.mark.parametrize("weight_kind", ["repetition", "sampling"])
    def test_groups_are_fitted_in_one_reading_and_applied(
        self, cluster, table, tmp_path, weight_kind
    ):
        """Two columns and weights: the calibrator and its files are those of the local engine."""
        engine, where = cluster
        half = pa.array(np.where(np.arange(table.num_rows) % 3, "a", "b"))
        log = write_log(tmp_path / "log", table.append_column("half", half), 4)
        how = {"by": "country,half", "bits": 7, "one_pass": True, "weight_kind": weight_kind}
        reading = engine.read_log(str(log / "*.parquet"), **how, **where)
        assert reading.passes == 1
        found = fit_groups(curves_by_group(reading, "country,half"), by="country,half")
        alone = local.read_log(log, **how)
        want = fit_groups(curves_by_group(alone, "country,half"), by="country,half")
        assert found.groups == want.groups
        np.testing.assert_allclose(found.effect, want.effect, atol=1e-9)
        np.testing.assert_allclose(found.rows, want.rows, rtol=1e-12)
        save(found, tmp_path / "cal.json")
        name = engine.__name__.rpartition(".")[2]
        apply_log(tmp_path / "cal.json", log, tmp_path / "out", engine=name, **where)
        out = pq.read_table(tmp_path / "out")
        rows = list(zip(table["country"].to_pylist(), half.to_pylist(), strict=True))
        scores = table["score"].to_numpy()
        np.testing.assert_allclose(out["score"], found(scores, rows), atol=1e-12)

    def test_weights(self, cluster, table, tmp_path):
        engine, where = cluster
        log = write_log(tmp_path / "log", table, 5)
        found, want = engine.curve(log, bits=6, **where), local.curve(log, bits=6)
        whole = Curve.from_scores(table["score"], table["outcome"], sample_weight=table["weight"])
        assert found.n == pytest.approx(want.n, rel=1e-12)
        assert ks_error(found) == pytest.approx(ks_error(whole), abs=1e-12)
        assert np.allclose(found.summary().sums, want.summary().sums, rtol=1e-12)

    def test_a_bad_row_is_named_or_skipped(self, cluster, table, tmp_path):
        engine, where = cluster
        bad = spoiled(spoiled(table.select(PLAIN), 4321), 5800)
        log = write_log(tmp_path / "log", bad, 5)
        words = r"part-003.parquet: row 721: `score` must be a number in \[0, 1\] \(1.5\)"
        with pytest.raises(InvalidInput, match=words):
            engine.curve(log, **where)
        found = engine.read_log(log, skip_bad=True, **where)
        assert (found.rows, found.skipped, found.curve.n) == (6000, 2, 5998)

    @pytest.mark.parametrize(("change", "words"), UNLIKE, ids=[words for _, words in UNLIKE])
    def test_files_that_differ_stop_the_job(self, cluster, tmp_path, change, words):
        engine, where = cluster
        (tmp_path / "log").mkdir()
        one, other = change()
        pq.write_table(one, tmp_path / "log" / "a.parquet")
        pq.write_table(other, tmp_path / "log" / "b.parquet")
        with pytest.raises(FileFormatError, match=words) as caught:
            engine.curve(tmp_path / "log", **where)
        for name in ("a.parquet", "b.parquet"):
            assert name in str(caught.value)
