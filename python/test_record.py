"""What belay_record makes of the program's answers; the program is a script that says what the test wants."""

import datetime
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import belay_record
from belay_record import BelayError, BelayWarning, Record, Table

UTC = datetime.UTC
INFO = {"schema": 1, "job": {"id": 4711, "name": "<b>train</b>", "user": "ada", "nodes": ["n1", "n2"], "start": None, "end": None},
        "sealed": True, "coverage": 0.5, "lost": [],
        "tables": {"host": {"rows": 3, "start": None, "end": None, "coverage": 0.5},
                   "gpu": {"rows": 0, "start": None, "end": None, "coverage": None}}}


class TestTable(unittest.TestCase):
    def test_columns_are_lists_and_rows_are_dicts(self):
        table = Table(["step", "loss"], [[1, 2.5], [2, None]])
        self.assertEqual(table["loss"], [2.5, None])
        self.assertEqual(list(table), [{"step": 1, "loss": 2.5}, {"step": 2, "loss": None}])
        self.assertEqual(table.to_dict(), {"step": [1, 2], "loss": [2.5, None]})
        self.assertEqual((len(table), bool(table), "loss" in table, "x" in table), (2, True, True, False))
        self.assertEqual(repr(table), "<Table of 2 rows: step, loss>")
        with self.assertRaises(KeyError):
            table["x"]

    def test_a_table_without_rows_has_its_columns(self):
        table = Table(["step"], [])
        self.assertEqual((table["step"], list(table), len(table), bool(table)), ([], [], 0, False))

    def test_equal_names_are_told_apart(self):
        table = Table(["a", "a_2", "a", "a"], [[1, 2, 3, 4]])
        self.assertEqual(table.to_dict(), {"a": [1], "a_2": [2], "a_3": [3], "a_4": [4]})

    def test_only_columns_of_nothing_but_times_become_times(self):
        noon = "2026-03-01T12:00:00.250000Z"
        table = Table(["all", "gaps", "mixed", "short", "impossible", "none"],
                      [[noon, noon, noon, "2026-03-01T12:00:00Z", "2026-02-31T12:00:00.000000Z", None],
                       [noon, None, "noon", "2026-03-01T12:00:00Z", "2026-02-31T12:00:00.000000Z", None]])
        time = datetime.datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=UTC)
        self.assertEqual(table["all"], [time, time])
        self.assertEqual(table["gaps"], [time, None])
        self.assertEqual(table["mixed"], [noon, "noon"])
        self.assertEqual(table["short"][0], "2026-03-01T12:00:00Z")
        self.assertEqual(table["impossible"][0], "2026-02-31T12:00:00.000000Z")
        self.assertEqual(table["none"], [None, None])
        self.assertEqual(Table(["all"], [[noon]], times=False)["all"], [noon])

    def test_html_shows_some_rows_and_escapes(self):
        page = Table(["<a>"], [["<script>"]] * 23)._repr_html_()
        self.assertNotIn("<script>", page)
        self.assertEqual(page.count("&lt;script&gt;"), 20)
        self.assertIn("&lt;a&gt;", page)
        self.assertIn("and 3 more rows", page)

    def test_missing_is_not_zero_in_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        noon = "2026-03-01T12:00:00.000000Z"
        frame = Table(["whole", "real", "truth", "time", "text", "none"],
                      [[2**60 + 1, 0.5, True, noon, "x", None], [None, None, None, None, None, None]]).to_pandas()
        self.assertEqual(list(frame.columns), ["whole", "real", "truth", "time", "text", "none"])
        self.assertEqual(frame["whole"][0], 2**60 + 1)
        self.assertEqual(frame["whole"].isna().tolist(), [False, True])
        self.assertEqual(str(frame["truth"].dtype), "boolean")
        self.assertEqual(str(frame["real"].dtype), "float64")
        self.assertEqual(frame["time"][0], pandas.Timestamp(noon))
        for name in frame.columns:
            self.assertTrue(frame[name].isna()[1], name)
        self.assertEqual(Table(["a", "b"], []).to_pandas().shape, (0, 2))


class TestRecord(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.program = os.path.join(self.directory, "belay")
        self.says()

    def says(self, out="{}", err="", status=0, then=""):
        """The program prints `out` and `err`, and ends with `status`; what it was called with is kept."""
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable} -SE\nimport json, os, signal, sys, time\n"
                       f"json.dump(sys.argv[1:], open({self.program + '.called'!r}, 'w'))\n"
                       f"{then}\nsys.stdout.write({out!r})\nsys.stderr.write({err!r})\nsys.exit({status})\n")
        os.chmod(self.program, 0o755)

    def called(self):
        with open(self.program + ".called", encoding="utf-8") as file:
            return json.load(file)

    def record(self, path="r", **options):
        return Record(path, program=self.program, **options)

    def error_of(self, function, *arguments, **options):
        with self.assertRaises(BelayError) as caught:
            function(*arguments, **options)
        return caught.exception

    def test_a_query_is_one_call_whose_arguments_are_no_options(self):
        self.says('{"columns": ["a"], "rows": [[1]]}')
        table = self.record("-r").query("--json")
        self.assertEqual(self.called(), ["record", "query", "--json", "--", "-r", "--json"])
        self.assertEqual(table["a"], [1])

    def test_a_job_is_named_by_number(self):
        self.says(json.dumps(INFO))
        Record(4711, program=self.program).info
        self.assertEqual(self.called(), ["record", "info", "--json", "--", "4711"])

    def test_columns_and_conditions_of_a_table(self):
        self.says('{"columns": [], "rows": []}')
        record = self.record()
        for options, sql in (
                ({}, 'SELECT * FROM "host"\nORDER BY "time"'),
                ({"columns": ["time", 'a"b'], "order_by": None}, 'SELECT "time", "a""b" FROM "host"'),
                ({"where": "load_1m > 2 -- much", "limit": 5},
                 'SELECT * FROM "host"\nWHERE (\nload_1m > 2 -- much\n)\nORDER BY "time"\nLIMIT 5')):
            record.table("host", **options)
            self.assertEqual(self.called()[-1], sql)

    def test_info_and_tables(self):
        self.says(json.dumps(INFO))
        record = self.record()
        self.assertEqual(record.info, INFO)
        self.assertEqual(record.tables["host"]["rows"], 3)
        page = record._repr_html_()
        self.assertIn("&lt;b&gt;train&lt;/b&gt;", page)
        self.assertIn("50.0 %", page)
        self.assertNotIn("gpu", page)
        self.assertEqual(repr(record), "Record('r')")

    def test_score_and_schema(self):
        self.says('{"score": null}')
        self.assertEqual(self.record().score(by="node"), {"score": None})
        self.assertEqual(self.called(), ["score", "--by", "node", "--json", "--", "r"])
        self.says('{"tables": {"host": {}}}')
        self.assertEqual(belay_record.schema(self.program), {"host": {}})
        self.assertEqual(self.called(), ["record", "schema", "--json"])

    def test_findings_are_an_answer_also_where_there_are_some(self):
        answer = {"evaluated": ["hang"], "skipped": [], "problems": [],
                  "findings": [{"id": "hang", "severity": "critical", "title": "The <job> hangs", "advice": "Look", "summary": None}]}
        self.says(json.dumps(answer), status=1)
        findings = self.record().findings()
        self.assertEqual([finding["id"] for finding in findings], ["hang"])
        self.assertEqual(findings.evaluated, ["hang"])
        self.assertIn("The &lt;job&gt; hangs", findings._repr_html_())
        self.says('{"evaluated": ["hang"], "skipped": [], "findings": []}')
        self.assertIn("Nothing was found by 1 rules", self.record().findings(rules="mine.toml")._repr_html_())
        self.assertEqual(self.called(), ["findings", "--rules", "mine.toml", "--json", "--", "r"])

    def test_findings_of_the_rules_that_could_be_evaluated(self):
        self.says('{"findings": [], "problems": ["x.toml:1: no"]}', "belay: x.toml:1: no\nhint: mend it\n", status=2)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(self.record().findings().problems, ["x.toml:1: no"])
        self.assertEqual([(one.category, str(one.message)) for one in said], [(BelayWarning, "x.toml:1: no\nhint: mend it")])
        self.says("", "belay: r: this is not a job record\n", status=2)
        self.assertEqual(self.error_of(self.record().findings).message, "r: this is not a job record")

    def test_an_error_has_message_status_and_hint(self):
        self.says("", "belay: r belongs to eve, who is not you\nbelay: no table hots\n    SELECT * FROM hots\n                  ^\n"
                  "hint: belay record schema lists the tables and columns\n", status=2)
        error = self.error_of(self.record().query, "SELECT * FROM hots")
        self.assertEqual(error.status, 2)
        self.assertEqual(error.message, "no table hots\n    SELECT * FROM hots\n                  ^")
        self.assertEqual(error.hint, "belay record schema lists the tables and columns")
        self.assertTrue(str(error).endswith("^\nhint: belay record schema lists the tables and columns"))

    def test_a_program_that_says_nothing_is_reported_by_how_it_ended(self):
        self.says("", status=3)
        error = self.error_of(lambda: self.record().info)
        self.assertEqual((error.message, error.status, error.hint), ("belay record info ended with exit status 3", 3, None))
        self.says(then="os.kill(os.getpid(), signal.SIGKILL)")
        error = self.error_of(lambda: self.record().info)
        self.assertEqual((error.message, error.status), ("belay record info was ended by signal 9", -9))

    def test_what_it_says_beside_its_answer_is_a_warning_at_the_callers_line(self):
        self.says(json.dumps(INFO), "belay: r belongs to eve, who is not you\n")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.record().info
        self.assertEqual([str(one.message) for one in said], ["r belongs to eve, who is not you"])
        self.assertEqual(said[0].filename, __file__)

    def test_what_is_not_the_answer_is_an_error(self):
        for out in ("", "no", "[" * 100_000, "3", "[]", '{"columns": ["a"]}', '{"columns": ["a"], "rows": [[1, 2]]}',
                    '{"columns": [1], "rows": [[1]]}', '{"columns": ["a"], "rows": [3]}'):
            self.says(out)
            with self.subTest(out[:20]):
                self.assertIsNone(self.error_of(self.record().query, "SELECT 1").status)
        self.says('{"findings": 3}')
        self.error_of(self.record().findings)

    def test_a_program_that_takes_too_long_is_stopped(self):
        ended = subprocess.TimeoutExpired("belay", 3)  # by subprocess.run, which has killed it then
        with unittest.mock.patch("subprocess.run", side_effect=ended) as run:
            error = self.error_of(lambda: self.record(timeout=3).info)
        self.assertEqual(error.message, "belay record info took longer than 3 s and was stopped")
        self.assertEqual(run.call_args.kwargs["timeout"], 3)

    def test_a_program_that_cannot_be_run(self):
        os.chmod(self.program, stat.S_IRUSR)
        self.assertIn("cannot run " + self.program, self.error_of(lambda: Record("r", program=self.program + ".none").info).message)
        self.assertIn("cannot run", self.error_of(self.record().query, "SELECT '\0'").message)

    def test_the_program_of_the_path_is_taken(self):
        self.says(json.dumps(INFO))
        with unittest.mock.patch.dict(os.environ, {"PATH": self.directory}):
            self.assertEqual(Record("r").info, INFO)

    def test_the_program_of_the_same_tree_is_found(self):
        self.says(json.dumps(INFO))
        os.mkdir(os.path.join(self.directory, "bin"))
        os.rename(self.program, os.path.join(self.directory, "bin", "belay"))
        module = os.path.join(self.directory, "lib", "python3", "dist-packages", "belay_record.py")
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            with unittest.mock.patch.object(belay_record, "__file__", module):
                self.assertEqual(Record("r").info, INFO)
            with unittest.mock.patch.object(belay_record, "__file__", "/nonexistent/a/b/c/belay_record.py"):
                self.assertIn("the program belay was not found", self.error_of(lambda: Record("r").info).message)


if __name__ == "__main__":
    unittest.main()
