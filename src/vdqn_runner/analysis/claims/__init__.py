"""The twelve claims of the paper's experiments, each as a statistic with a threshold.

Statistics and thresholds were fixed before any run was looked at, and are not to be tuned on runs.
Each claim is one function, whose docstring holds the paper's sentence, the statistic, the threshold
and its reason; `control.py`, `chain.py` and `visits.py` hold them, `verdict.py` the rule from parts
to a verdict, `check.py` the list of claims with the runs that each needs. `check_claims` returns
everything as frozen values (`result.py`); the command `vdqn-claims` prints and writes them.
"""
