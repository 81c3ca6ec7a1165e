"""belay_record on real records, beside what the command itself prints: test_with_belay.py BELAY."""

import datetime
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import belay_record
from belay_record import BelayError, Record, Server
from stub_server import Answer, StubServer

PROGRAM = "for i in 1 2 3 4 5; do echo \"step $i loss 0.$((9 - i))\"; sleep 0.2; done"
PATTERN = r"step (?P<step>\d+) loss (?P<loss>\S+)"
belay = ""


def record_run(directory, *command):
    return [belay, "record", "run", "-o", directory, "--interval", "100ms", "--flush", "200ms", "--progress-pattern", PATTERN, "--",
            *command]


class TestWithBelay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="belay-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        os.environ["BELAY_CONFIG_DIR"] = "/nonexistent"
        for name in [name for name in os.environ if name.startswith("SLURM_")]:
            del os.environ[name]
        cls.path = os.path.join(cls.directory, "written")
        subprocess.run(record_run(cls.path, "bash", "-c", PROGRAM), check=True, stdout=subprocess.DEVNULL, timeout=300)
        cls.sealed_path = os.path.join(cls.directory, "sealed")
        shutil.copytree(cls.path, cls.sealed_path)
        subprocess.run([belay, "record", "seal", cls.sealed_path], check=True, stdout=subprocess.DEVNULL, timeout=300)
        cls.records = [Record(cls.path, program=belay), Record(cls.sealed_path, program=belay)]

    def command(self, *words):
        """What the command prints, whatever its exit status is."""
        ended = subprocess.run([belay, *words], capture_output=True, text=True, timeout=300, check=False)
        return json.loads(ended.stdout)

    def error_of(self, function, *arguments, **options):
        with self.assertRaises(BelayError) as caught:
            function(*arguments, **options)
        return caught.exception

    def test_answers_are_those_of_the_command(self):
        for record in self.records:
            for name, facts in record.tables.items():
                answer = self.command("record", "query", record.path, f'SELECT * FROM "{name}" ORDER BY ALL', "--json")
                table = record.query(f'SELECT * FROM "{name}" ORDER BY ALL', times=False)
                self.assertEqual((table.columns, [list(row.values()) for row in table]), (answer["columns"], answer["rows"]), name)
                self.assertEqual(len(table), facts["rows"], name)
            self.assertEqual(record.info, self.command("record", "info", record.path, "--json"))
            self.assertEqual(record.score(by="node"), self.command("score", record.path, "--by", "node", "--json"))
            findings = self.command("findings", record.path, "--json")
            self.assertEqual(list(record.findings()), findings["findings"])
            self.assertEqual((record.findings().evaluated, record.findings().skipped), (findings["evaluated"], findings["skipped"]))

    def test_progress_and_times(self):
        for record in self.records:
            steps = record.table("progress", ["time", "step", "loss"], where="kind = 'train' -- only these")
            self.assertEqual((steps["step"], steps["loss"]), ([1, 2, 3, 4, 5], [0.8, 0.7, 0.6, 0.5, 0.4]))
            self.assertEqual(steps["time"], sorted(steps["time"]))
            age = datetime.datetime.now(datetime.UTC) - steps["time"][0]
            self.assertTrue(datetime.timedelta(0) < age < datetime.timedelta(hours=1), age)
            self.assertEqual(len(record.table("progress", limit=2, order_by=None)), 2)

    def test_tables_have_the_columns_that_the_schema_says(self):
        tables = belay_record.schema(belay)
        self.assertIn("host", tables)
        for name, facts in tables.items():
            self.assertEqual(self.records[1].table(name, limit=1).columns, [column["name"] for column in facts["columns"]])

    def test_series_are_made_of_both(self):
        for record in self.records:
            spans = record.query("SELECT time, cpus_used FROM host_series ORDER BY time")
            self.assertGreater(len(spans), 1)
            self.assertIsInstance(spans["time"][0], datetime.datetime)

    def test_values_of_all_kinds(self):
        row = self.records[0].query("SELECT NULL AS none, true AS truth, 9007199254740993 AS large, 0.1::DOUBLE AS real, 'é\"' AS text, "
                                    "'NaN'::DOUBLE AS nan, TIMESTAMP '2026-03-01 12:00:00.5' AS time, [1, 2] AS list, 1 AS a, 2 AS a")
        noon = datetime.datetime(2026, 3, 1, 12, 0, 0, 500000, tzinfo=datetime.UTC)
        self.assertEqual(next(iter(row)), {"none": None, "truth": True, "large": 9007199254740993, "real": 0.1, "text": "é\"", "nan": None,
                                           "time": noon, "list": "[1, 2]", "a": 1, "a_2": 2})

    def test_what_is_wrong_with_a_question(self):
        record = self.records[1]
        error = self.error_of(record.query, "SELECT hot FROM host")
        self.assertEqual((error.status, error.hint), (2, "belay record schema lists the tables and columns"))
        self.assertIn("hot", error.message)
        self.assertEqual(self.error_of(record.table, 'no"table').status, 2)
        self.assertEqual(self.error_of(record.query, "--json").status, 2)
        self.assertEqual(self.error_of(record.query, "SELECT * FROM '/etc/passwd'").status, 2)
        self.assertEqual(self.error_of(record.findings, rules="/nonexistent.toml").status, 2)
        self.assertIsNone(self.error_of(record.query, "SELECT '" + "x" * 300_000 + "'").status)

    def test_what_is_not_a_record(self):
        for path in ("/nonexistent", "", "-x", "--help", self.directory):
            self.assertEqual(self.error_of(lambda path=path: Record(path, program=belay).info).status, 2, path)
        error = self.error_of(lambda: Record(987654321, program=belay).info)
        self.assertIn("there is no record of job 987654321", error.message)

    def test_a_record_that_is_being_written(self):
        path = os.path.join(self.directory, "growing")
        job = subprocess.Popen(record_run(path, "bash", "-c", "echo step 1 loss 0.5; read line; echo step 2 loss 0.25"),
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            record, end = Record(path, program=belay), time.monotonic() + 60
            while True:
                try:
                    losses = record.table("progress", ["loss"])["loss"]
                except BelayError as error:  # the directory is not there yet
                    losses = error
                if losses == [0.5]:
                    break
                self.assertLess(time.monotonic(), end, f"no progress within a minute: {losses}")
                time.sleep(0.1)
            self.assertTrue(record.info["being_written"])
        finally:
            job.communicate(b"\n", timeout=120)
        self.assertEqual(record.table("progress", ["loss"])["loss"], [0.5, 0.25])

    def test_a_record_that_was_downloaded(self):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(self.sealed_path, "job")
        with StubServer({"/api/v1/jobs/1/record": Answer(body=file.getvalue())}) as stub:
            path = Server(stub.url, "").download("1", os.path.join(self.directory, "downloaded")).path
        self.assertEqual(Record(path, program=belay).table("progress")["loss"], self.records[1].table("progress")["loss"])
        self.assertEqual(Record(path, program=belay).info["lost"], [])


if __name__ == "__main__":
    belay = os.path.abspath(sys.argv.pop(1))
    unittest.main()
