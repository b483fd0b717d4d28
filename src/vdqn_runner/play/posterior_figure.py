"""The figure of Q along the chain at chosen episodes, and of how often each state is left right."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vdqn_runner.analysis import style
from vdqn_runner.analysis.claims.optimum import chain_return
from vdqn_runner.play.q_posterior import Belief

COLUMNS = ("episode", "state", "action", "mean", "low", "high", "p_right")

ACTIONS: Mapping[str, style.Look] = {
    "left": ("#56B4E9", style.DASHED),
    "right": ("#D55E00", style.SOLID),
}
_HEIGHT = 1.6  # inches


def draw(beliefs: Mapping[int, Belief], samples: int) -> Figure:
    """Draw a column for each episode: Q of both actions above, the chance of going right below.

    Args:
        beliefs: By number of episodes of training.
        samples: How many networks were sampled.
    """
    episodes = sorted(beliefs)
    with style.look():
        places = [(row, column) for row in (0, 1) for column in range(len(episodes))]
        figure, axes = style.grid(places, _HEIGHT, "$Q$", "State")
        above, below = axes[: len(episodes)], axes[len(episodes) :]
        for episode, ax, share in zip(episodes, above, below, strict=True):
            _values(ax, beliefs[episode])
            ax.set_title(f"after {episode} episodes")
            share.plot(_states(beliefs[episode]), beliefs[episode].right, color="black")
            share.set_ylim(-0.05, 1.05)
            share.set_ylabel("")
        # Beliefs differ by orders of magnitude between episodes: each panel has its own scale.
        for ax in above:
            ax.tick_params(labelbottom=False)
        for ax in below[1:]:
            ax.tick_params(labelleft=False)
        below[0].set_ylabel("P(right)")
        handles = [style.legend_line(name, look) for name, look in ACTIONS.items()]
        handles.append(style.legend_line("best return", style.REFERENCE, style.REFERENCE_WIDTH))
        title = f"mean and 90 % interval of {samples} sampled networks" if samples else None
        style.shared_legend(figure, handles, title)
    return figure


def _values(ax: Axes, belief: Belief) -> None:
    states = _states(belief)
    best, (color, dash) = chain_return(len(states)), style.REFERENCE
    ax.axhline(best, color=color, linestyle=dash, linewidth=style.REFERENCE_WIDTH)
    for action, (color, dash) in enumerate(ACTIONS.values()):
        ax.plot(states, belief.mean[:, action], color=color, linestyle=dash)
        low, high = belief.low[:, action], belief.high[:, action]
        ax.fill_between(states, low, high, color=color, alpha=0.25, linewidth=0)


def _states(belief: Belief) -> np.ndarray:
    return np.arange(1, len(belief.right) + 1)


def rows(beliefs: Mapping[int, Belief]) -> list[Sequence[object]]:
    """Return what is drawn, a row for each episode, state and action, under ``COLUMNS``."""
    return [
        (episode, state + 1, name, one.mean[state, action], one.low[state, action],
         one.high[state, action], one.right[state])
        for episode, one in sorted(beliefs.items())
        for state in range(len(one.right))
        for action, name in enumerate(ACTIONS)
    ]  # fmt: skip
