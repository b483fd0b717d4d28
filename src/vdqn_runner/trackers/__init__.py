"""Trackers: what a run has logged, sent on to TensorBoard, MLflow or Weights & Biases.

A tracker follows the CSV logs, in a process of its own. Training does not know of it, so nothing
that a tracker does, waits for or dies of reaches a run: not its bytes, its time or its exit code.
What the process does is no more than reading, so it does the same for runs that are over, packed
ones too: ``vdqn-runs track``.

A row is sent once it can no longer be taken back: as far as the seed's last checkpoint, whose step
status.json tells. Until then a crash would cut it off again. A step up to which all rows have been
sent is therefore all that is to be remembered of a seed: it is in ``sent.json``, below the seed's
folder (``sent``), with what a tracker needs to make good for a death between sending and noting.

    points      rows as named numbers with a step and a time
    logs        a seed's rows since the last look, as far as they stay
    sources     the seeds of a run, in folders or packed, and what they are called
    sent        what has been sent of a seed, and where to
    to_*        the trackers: ``begin`` opens one for a seed
    sender      one seed, from its logs to its tracker
    child       the process: passes over all seeds until there is no more to come
    parent      starts it, and says at the end what it could not send
"""

from vdqn_runner.trackers.packages import check_tracker
from vdqn_runner.trackers.parent import tracked

__all__ = ["check_tracker", "tracked"]
