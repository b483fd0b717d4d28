"""The list of figures: which runs each needs, what the paper says of it, how it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

from vdqn_runner.analysis.curves import TASKS
from vdqn_runner.analysis.paper.ablation import ablation
from vdqn_runner.analysis.paper.chain_drawing import figure_1
from vdqn_runner.analysis.paper.diagnostics import diagnostics
from vdqn_runner.analysis.paper.entropy_weight import entropy_weight
from vdqn_runner.analysis.paper.map_is_dqn import COMMANDS, map_is_dqn
from vdqn_runner.analysis.paper.product import Missing, Product
from vdqn_runner.analysis.paper.scaling import scaling
from vdqn_runner.analysis.paper.selection import Key, Selection
from vdqn_runner.analysis.paper.training import curves, visits

_ALL = ("vdqn", "dqn", "noisynet")
FIGURE_2: list[Key] = list(product(TASKS, ("vdqn", "dqn")))
FIGURE_3: list[Key] = list(product((f"chain-{n}" for n in (5, 10, 50, 100)), _ALL))
FIGURE_4: list[Key] = list(product(("chain-32",), ("vdqn", "dqn")))
FIGURE_5: list[Key] = list(product((f"chain-{n}" for n in (8, 32, 128)), _ALL))


@dataclass(frozen=True)
class Spec:
    """A figure to be made.

    Attributes:
        name: of its files.
        title: its heading on the page.
        quotes: what the paper says of it, in the paper's words; none where it is silent.
        training: the commands that train its runs.
        draw: makes it from the selected runs.
    """

    name: str
    title: str
    quotes: tuple[str, ...]
    training: tuple[str, ...]
    draw: Callable[[Selection], Product | Missing]


def specs(sigma_env: str) -> list[Spec]:
    """All figures in the order of the page; `sigma_env` is the chain of the diagnostics."""
    return [
        Spec(
            "figure1",
            "Figure 1: the chain",
            (
                "The initial state is always s_2, making it hard for the agent to escape local "
                "optimality at s_1.",
            ),
            (),
            lambda _: figure_1(),
        ),
        Spec(
            "figure2",
            "Figure 2: control tasks",
            (
                "Both Variational DQN and DQN can solve the four control tasks within a given "
                "number of iterations, yet they display quite different characteristics in "
                "training curves.",
                "On simple tasks like CartPole (Figure 2 (a) and (b)), Variational DQN makes "
                "progress faster than DQN but converges at a slower rate.",
            ),
            ("vdqn-run experiment=fig2",),
            partial(curves, keys=FIGURE_2),
        ),
        Spec(
            "figure3",
            "Figure 3: chains",
            (
                "For small N ≤ 10, all algorithms converge to optimal policy within reasonable "
                "number of iterations, and even the training curves of Variational DQN and Noisy "
                "network are very similar.",
                "When N increases such that N ≥ 50, DQN barely makes progress and cannot converge "
                "to optimal policy, while NoisyNet converges more slowly to optimal policy and "
                "oscillates much.",
                "When N ≥ 100, both DQN and NoisyNet barely make progress …",
            ),
            ("vdqn-run experiment=fig3",),
            partial(curves, keys=FIGURE_3),
        ),
        Spec(
            "figure4",
            "Figure 4: visit probabilities, N = 32",
            (
                "At early stage of training (iterations ≤ 10), Variational DQN starts with and "
                "maintains a relatively high probability of visiting all three states.",
                "But since DQN does not have enough momentum to consistently go beyond s_{N/2} and "
                "visit s_N, visits to s_{N/2} are finally suppressed and the agent converges to "
                "the locally optimal policy in s_1.",
            ),
            ("vdqn-run experiment=fig4",),
            partial(visits, keys=FIGURE_4),
        ),
        Spec(
            "figure5",
            "Figure 5: visit probabilities, N = 8, 32 and 128",
            (
                "For small N (N = 8), Variational DQN and NoisyNet both identify the optimal path "
                "faster yet display larger variance in performance, while DQN makes progress in a "
                "more steady manner.",
                "NoisyNet explores more efficiently than DQN since it sometimes converge to "
                "optimal policy but is less stable than Variational DQN.",
                "For large N (N=128), Variational DQN takes more time to find the optimal policy "
                "but still converges within small number of iterations. On the other hand, both "
                "DQN and NoisyNet get stuck.",
            ),
            ("vdqn-run experiment=fig5",),
            partial(visits, keys=FIGURE_5),
        ),
        Spec(
            "scaling",
            "Episodes needed against the length of the chain",
            (
                "For N ≤ 70, Variational DQN converges to optimal policy within 500 episodes (50 "
                "iterations) on average. However, when N keeps increasing such that N ≥ 100, "
                "Variational DQN takes longer time to find the optimal policy but it makes steady "
                "improvement over time.",
            ),
            ("vdqn-run experiment=scaling", "vdqn-run experiment=fig5"),
            scaling,
        ),
        Spec(
            "diagnostics",
            f"Width of the weights' distributions, N = {sigma_env.removeprefix('chain-')}",
            (
                "However, since NoisyNet does not explicitly encourage dispersed distribution over "
                "policies, the algorithm can still converge prematurely if the variance parameter "
                "converges quickly to zero.",
            ),
            (f"vdqn-run -m experiment=fig3 env.n={sigma_env.removeprefix('chain-')}",),
            partial(diagnostics, env=sigma_env),
        ),
        Spec(
            "lambda",
            "Weight of the entropy",
            (
                "where λ > 0 is a regularization constant, used to balance the expected Bellman "
                "error and entropy bonus.",
            ),
            ("vdqn-run experiment=lambda",),
            entropy_weight,
        ),
        Spec(
            "map_is_dqn",
            "DQN as a special case",
            (
                "We can recover the original DQN as a special case of Variational DQN.",
                "Under Gaussian generative model of Q_θ(s,a) and improper uniform prior, this is "
                "equivalent to minimizing Bellman error only.",
            ),
            COMMANDS,
            map_is_dqn,
        ),
        Spec(
            "cold_posterior",
            "The entropy's weight, held or cooled",
            (
                "where λ > 0 is a regularization constant, used to balance the expected Bellman "
                "error and entropy bonus.",
            ),
            ("vdqn-run experiment=cold_posterior",),
            partial(ablation, name="cold_posterior"),
        ),
        Spec(
            "inference",
            "Families of distributions and gradient estimators",
            (
                "In general, we only need to assume Gaussian generative model Q_θ(s,a) and any "
                "variational inference algorithm will perform approximate minimization of Bellman "
                "error.",
            ),
            ("vdqn-run experiment=inference",),
            partial(ablation, name="inference"),
        ),
        Spec(
            "ablation_theta",
            "VDQN: weight samples to learn and to act, learning rate",
            ("At each time step t, we sample θ ∼ q_φ(θ) and select action by being greedy …",),
            ("vdqn-run experiment=ablation_theta",),
            partial(ablation, name="ablation_theta"),
        ),
        Spec(
            "ablation_noisynet",
            "NoisyNet: form and samples of its noise, learning rate",
            (
                "NoisyNet maintains a distribution over value functions, which allows the agent "
                "to consistently execute a sequence of actions under different policies, leading "
                "to more efficient exploration.",
            ),
            ("vdqn-run experiment=ablation_noisynet",),
            partial(ablation, name="ablation_noisynet"),
        ),
        Spec(
            "ablation_timeout",
            "Control tasks: what an end by the time limit means",
            (),
            ("vdqn-run experiment=fig2", "vdqn-run experiment=ablation_timeout"),
            partial(ablation, name="ablation_timeout"),
        ),
    ]
