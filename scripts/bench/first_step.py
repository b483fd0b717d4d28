"""`vdqn-run` up to its first gradient step: prints the clock's reading there and ends at once."""

import os
import sys
import time


def main() -> None:
    from vdqn_runner import train

    learn = train.Lockstep.learn

    def learn_and_end(batch: train.Lockstep) -> None:
        learn(batch)
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        if batch.algo.learner.updates:
            print(now, flush=True)
            os._exit(0)

    train.Lockstep.learn = learn_and_end  # type: ignore[method-assign]
    from vdqn_runner.cli import main as vdqn_run

    sys.exit(vdqn_run(sys.argv[1:]))


if __name__ == "__main__":
    main()
