"""The examples of docs/python.md, run in their order: test_docs.py BELAY. Commands make the record that the first ones open; those about
belayd are answered by a server of this test, which stands for https://belay.example.org."""

import doctest
import importlib.util
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

from belay_record import Record
from stub_server import Answer, StubServer

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "python.md")
belay = ""


def answers(record):
    """What belayd would say of the record and of another job."""
    def archive(_):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(record.path, "alps-4711")
        return Answer(body=file.getvalue(), headers={"Content-Type": "application/x-tar"})

    def query(_):
        steps = record.table("progress", ["step", "loss"])
        return Answer(body={"columns": steps.columns, "rows": [list(row.values()) for row in steps]})

    events = b'id: 1\nevent: progress\ndata: {"step": 1200, "loss": 0.31}\n\nid: 2\nevent: end\ndata: {}\n\n'
    findings = {"findings": [{"id": "memory", "severity": "warning", "title": "Much of the memory was not used"}]}
    return {"/api/v1/jobs": Answer(body={"jobs": [{"key": "alps-4711", "state": "COMPLETED"}, {"key": "alps-4712", "state": "RUNNING"}],
                                         "next": None}),
            "/api/v1/jobs/alps-4711/query": query, "/api/v1/jobs/alps-4711/record": archive,
            "/api/v1/jobs/alps-4711/findings": Answer(body=findings),
            "/api/v1/jobs/alps-4712/events": Answer(body=events, headers={"Content-Type": "text/event-stream"})}


class TestPage(unittest.TestCase):
    def test_examples(self):
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        commands = re.search(r"\n\n((?:    .*\n)*    belay record run .*\n(?:    .*\n)*)", text).group(1)
        if importlib.util.find_spec("pandas") is None:
            text = re.sub(r"    >>> .*to_pandas\(\).*\n    [^>].*\n", "", text)
            print("pandas is not installed: its example was left out")
        with tempfile.TemporaryDirectory() as directory:
            os.environ |= {"HOME": directory, "BELAY_CONFIG_DIR": "/nonexistent", "XDG_CONFIG_HOME": "", "BELAY_TOKEN": "of-the-test",
                           "PATH": os.path.dirname(belay) + os.pathsep + os.environ["PATH"]}
            os.chdir(directory)
            self.addCleanup(os.chdir, "/")
            subprocess.run(["bash", "-e", "-c", commands], check=True, stdout=subprocess.DEVNULL, timeout=300)
            record = Record(os.path.join(directory, "demo"))
            with StubServer(answers(record)) as stub:
                examples = doctest.DocTestParser().get_doctest(text.replace("https://belay.example.org", stub.url), {}, "docs/python.md",
                                                               PAGE, 0)
                self.assertGreater(len(examples.examples), 20)
                said = io.StringIO()
                result = doctest.DocTestRunner(verbose=False).run(examples, out=said.write)
        self.assertEqual(result.failed, 0, said.getvalue())

    def test_the_table_names_methods_that_there_are(self):
        import belay_record
        with open(PAGE, encoding="utf-8") as file:
            rows = re.findall(r"^\| ((?:`\w+\([^`]*\)`(?:, )?)+) \|", file.read(), re.MULTILINE)
        named = set(re.findall(r"`(\w+)\(", " ".join(rows)))
        public = {name for name in vars(belay_record.Server) if not name.startswith("_")}
        self.assertEqual(named, public)


if __name__ == "__main__":
    belay = os.path.abspath(sys.argv.pop(1))
    unittest.main()
