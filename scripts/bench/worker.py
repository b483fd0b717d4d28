"""A contestant's process: it warms up, then takes steps when told to and says how long it took.

Lines of JSON: ``{"steps": n}`` comes in, ``{"seconds": t, "cpu_seconds": c, "peak_mib": m}``
goes out.
"""

import gc
import json
import os
import sys
import time

from scripts.bench.machine import peak_memory, pin
from scripts.bench.work import Contestant


def main() -> None:
    order = json.loads(sys.argv[1])
    # Before the libraries start threads of their own.
    pin(order["cpu"])
    # Whatever a library prints goes to stderr, so that stdout holds answers alone.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    task = Contestant(**order["task"])
    if task.maker == "ours":
        from scripts.bench.ours import make
    elif task.maker == "published":
        from scripts.bench.published import make
    else:
        from scripts.bench import peers

        make = getattr(peers, task.maker)
    advance = make(task)
    advance(order["warm_up"])
    gc.collect()
    gc.freeze()
    print(json.dumps({"peak_mib": peak_memory()}), file=answers)
    for line in sys.stdin:
        steps = json.loads(line)["steps"]
        start, cpu_start = time.perf_counter(), time.process_time()
        advance(steps)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        answer = {"seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak_memory()}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
