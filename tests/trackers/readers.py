"""What a run logged, from its CSV files, and what trackers have of it, by their own readers.

All of them return, for one seed, the points of each name in the order in which they are stored:
``{"episode/return": [(step, value), ...], ...}``.
"""

import csv
import json
import math
import struct
from collections import defaultdict

PLACE = ("seed", "episode", "iteration", "step")


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def logged(folder):
    """From the logs of a seed."""
    found = defaultdict(list)
    for file, group in (("episodes", "episode"), ("updates", "update")):
        for row in rows(folder / f"{file}.csv"):
            for name, text in row.items():
                if name not in PLACE and text != "nan":
                    found[f"{group}/{name}"].append((int(row["step"]), float(text)))
    trials = defaultdict(list)
    if (folder / "evaluations.csv").exists():
        for row in rows(folder / "evaluations.csv"):
            for name in ("return", "length"):
                key = f"evaluation/{row['policy']}/{name}", int(row["step"])
                trials[key].append(float(row[name]))
    for (name, step), values in trials.items():
        found[name].append((step, math.fsum(values) / len(values)))
    return dict(found)


def as_float32(points):
    """The same in the precision of TensorBoard."""
    (narrow,) = {struct.Struct("<f")}
    return {
        name: [(step, narrow.unpack(narrow.pack(value))[0]) for step, value in series]
        for name, series in points.items()
    }


def events(folder):
    """The accumulator of TensorBoard, of all event files in a folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()


def in_tensorboard(folder):
    found = events(folder)
    return {
        name: [(event.step, event.value) for event in found.Scalars(name)]
        for name in found.Tags()["scalars"]
    }


def mlflow_runs(uri, experiment="vdqn-runner"):
    """The client, and the runs by name."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    ids = [client.get_experiment_by_name(experiment).experiment_id]
    return client, {run.info.run_name: run for run in client.search_runs(ids)}


def in_mlflow(client, run):
    return {
        name: [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, name)]
        for name in run.data.metrics
    }


def wandb_records(file):
    """The records of a .wandb file: a log as LevelDB writes it, in blocks of 32 KiB."""
    from wandb.proto.wandb_internal_pb2 import Record

    content = file.read_bytes()
    assert content[:4] == b":W&B"
    at, parts, found = 7, [], []
    while at < len(content):
        room = 32768 - at % 32768
        if room < 7:
            at += room
            continue
        _, length, kind = struct.unpack_from("<IHB", content, at)
        parts.append(content[at + 7 : at + 7 + length])
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the end of one
            record = Record()
            record.ParseFromString(b"".join(parts))
            found.append(record)
            parts = []
    assert not parts
    return found


def in_wandb(records):
    found = defaultdict(list)
    for record in records:
        if record.WhichOneof("record_type") == "history":
            items = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            for name, value in items.items():
                if not name.startswith("_"):
                    found[name].append((items["_step"], value))
    return dict(found)
