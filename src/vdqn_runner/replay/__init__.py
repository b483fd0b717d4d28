"""Replay buffers: what was seen, and how minibatches are drawn from it."""

from vdqn_runner.replay.uniform import Transitions, UniformReplay

__all__ = ["Transitions", "UniformReplay"]
