"""speed.py LOG...: the samples per second of each training between a fifth and four fifths of its steps, as its MLLOG tells, and
added up for all of them. Trainings that run at once start and end at different moments: in between all of them run."""
import json
import sys


def speed(path):
    with open(path, encoding="utf-8") as log:
        lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in log if line.startswith(":::MLLOG ")]
    stats = [line["value"] for line in lines if line["key"] == "tracked_stats"]
    steps = stats[-1]["step"]
    done = 0
    taken = samples = 0.0
    for value in stats:
        first, done = done, value["step"]
        if first >= steps / 5 and done <= steps * 4 / 5:
            seconds = (done - first) * value["step_seconds"]
            taken += seconds
            samples += seconds * value["samples_per_second"]
    return samples / taken


print(f"{sum(map(speed, sys.argv[1:])):.3f}")
