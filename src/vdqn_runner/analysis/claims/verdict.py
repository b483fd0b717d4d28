"""From the parts of a claim to its verdict.

The rule, the same for all claims:

- reproduced: every part holds, and its whole interval is on the right side of the threshold;
- not reproduced: no part holds, or a part that is the claim's core does not;
- partly: anything else, that is every part holds but some interval is not clear, or some parts hold
  and others do not;
- not tested: a run that the claim needs is missing or unfinished.
"""

from __future__ import annotations

from collections.abc import Sequence

from vdqn_runner.analysis.claims.result import Part, Verdict


def verdict(parts: Sequence[Part]) -> Verdict:
    """The verdict over at least one part."""
    if all(part.holds and part.clear for part in parts):
        return "reproduced"
    if any(part.core and not part.holds for part in parts):
        return "not reproduced"
    return "partly" if any(part.holds for part in parts) else "not reproduced"
