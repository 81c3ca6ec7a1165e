"""The notebook runs as it is on records that are made here: test_notebook.py BELAY [NVML_REPLAY].

Exit status 77 where Jupyter or matplotlib is missing.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
NOTEBOOK = os.path.join(HERE, "what-did-my-job-do.ipynb")
TRAINING = """
import time
end = time.monotonic() + 2
step = 0
while time.monotonic() < end:
    step += 1
    sum(range(200_000))
    print(f"step {step} loss {1 / step}", flush=True)
    time.sleep(0.02)
"""
belay, replay = "", ""


def notebook():
    with open(NOTEBOOK, encoding="utf-8") as file:
        return json.load(file)


class TestFile(unittest.TestCase):
    def test_no_outputs_are_kept(self):
        page = notebook()
        self.assertEqual((page["nbformat"], page["nbformat_minor"]), (4, 5))
        self.assertEqual(page["metadata"]["kernelspec"]["name"], "python3")
        for cell in page["cells"]:
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), cell["id"])
        ids = [cell["id"] for cell in page["cells"]]
        self.assertEqual(len(set(ids)), len(ids))

    def test_links_lead_somewhere(self):
        text = "".join("".join(cell["source"]) for cell in notebook()["cells"] if cell["cell_type"] == "markdown")
        targets = re.findall(r"\]\(([^)]*)\)", text)
        self.assertTrue(targets)
        for target in targets:
            self.assertTrue(os.path.exists(os.path.join(HERE, target)), target)


class TestRun(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.record = os.path.join(self.directory, "record")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        self.environment |= {"HOME": self.directory, "BELAY_CONFIG_DIR": "/nonexistent", "RECORD": self.record,
                             "PYTHONPATH": os.path.join(HERE, "..", "..", "python"), "PYTHONDONTWRITEBYTECODE": "1",
                             "PATH": os.path.dirname(belay) + os.pathsep + os.environ["PATH"]}

    def run_program(self, *command, **environment):
        ended = subprocess.run(command, env=self.environment | environment, cwd=self.directory, capture_output=True, text=True,
                               timeout=600, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr[-3000:])
        return ended.stdout

    def make_record(self, *command, **environment):
        self.run_program(belay, "record", "run", "-o", self.record, "--interval", "100ms", "--flush", "300ms", "--", *command,
                         **environment)

    def outputs(self):
        """Of each code cell by its id, what it showed: texts, and "picture"."""
        executed = self.run_program("jupyter-nbconvert", "--to", "notebook", "--execute", "--stdout", NOTEBOOK)
        shown = {}
        for cell in json.loads(executed)["cells"]:
            if cell["cell_type"] != "code":
                continue
            texts = []
            for output in cell["outputs"]:
                self.assertNotEqual(output["output_type"], "error", output)
                data = output.get("data", {})
                text = data.get("text/html") or data.get("text/plain") or output.get("text", "")
                texts.append("picture" if "image/png" in data else "".join(text))
            shown[cell["id"]] = texts
        return shown

    def test_a_training_without_gpus(self):
        self.make_record(sys.executable, "-c", TRAINING)
        self.run_program(belay, "record", "seal", self.record)
        shown = self.outputs()
        self.assertIn("<th>state</th><td>sealed</td>", shown["open"][0])
        self.assertEqual(shown["hosts"], ["picture"])
        self.assertEqual(shown["loss"], ["picture"])
        self.assertIn("no samples of GPUs", shown["gpus"][0])
        self.assertIn("python", shown["processes"][0])
        self.assertIn("score ", shown["score"][0])
        self.assertTrue("<dl>" in shown["findings"][0] or "Nothing was found" in shown["findings"][0])
        self.assertTrue(shown["skipped"][0])

    def test_gpus_of_a_record_that_is_not_sealed(self):
        if not replay:
            self.skipTest("there is no library that replays GPUs")
        trace = os.path.join(self.directory, "trace")
        self.run_program(belay, "record", "gpu-trace", "-o", trace, "--synthetic", "training", "--gpus", "2", "--seconds", "60")
        self.make_record("sleep", "3", BELAY_NVML_LIBRARY=replay, BELAY_GPU_TRACE=trace, BELAY_GPU_TRACE_SPEED="20")
        shown = self.outputs()
        self.assertIn("<th>state</th><td>not sealed</td>", shown["open"][0])
        self.assertEqual(shown["gpus"], ["picture"])
        self.assertIn("picture", shown["score"])
        self.assertIn("No loss was printed", shown["loss"][0])


if __name__ == "__main__":
    if shutil.which("jupyter-nbconvert") is None or any(importlib.util.find_spec(name) is None for name in ("ipykernel", "matplotlib")):
        print("skipped: jupyter-nbconvert, ipykernel or matplotlib is not installed")
        sys.exit(77)
    belay = os.path.abspath(sys.argv.pop(1))
    replay = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ""
    unittest.main()
