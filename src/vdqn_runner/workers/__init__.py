"""Worker processes, among which the seeds of a run are dealt.

A seed's numbers do not depend on which seeds train beside it, so they do not depend on this either.
Nothing here imports torch, except a worker itself.
"""

from vdqn_runner.workers.count import Place, place, worker_count
from vdqn_runner.workers.parent import train_in_workers

__all__ = ["Place", "place", "train_in_workers", "worker_count"]
