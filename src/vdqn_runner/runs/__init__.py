"""The run folder: where a run's logs, status, checkpoints and locks live, and how they survive.

Nothing here is imported eagerly: only ``checkpoint`` needs torch, so analysis may use the rest.
"""
