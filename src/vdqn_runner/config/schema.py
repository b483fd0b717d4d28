"""Every setting of a run: its type, default, range and meaning.

The models are the single source of these facts: the checks, the help text and the identity of
a run are derived from them, and a test holds the files in ``conf/`` to the same defaults.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from vdqn_runner.config.model import Settings
from vdqn_runner.config.ranges import ScheduleWithin, Within
from vdqn_runner.config.schedule import (
    AnySchedule,
    ConstantSchedule,
    LinearSchedule,
    Schedule,
)

# A step count must be exact as a float, where schedules and logs have it: below 2^53. So no run has
# more than 10^15 steps: 10^9 episodes of at most 10^6 each.
MOST_EPISODES = 10**9
LONGEST_EPISODE = 10**6
MOST_STEPS = MOST_EPISODES * LONGEST_EPISODE

Width = Annotated[int, AfterValidator(Within(1, 10**6))]
Processors = Annotated[int, AfterValidator(Within(1, 4096))]
Episodes = Annotated[int, AfterValidator(Within(1, MOST_EPISODES))]
Steps = Annotated[int, AfterValidator(Within(1, MOST_STEPS))]
# What is used, and squared, as a 32-bit number.
Positive = Annotated[float, AfterValidator(Within(1e-30, 1e15))]
Discount = Annotated[float, AfterValidator(Within(0, 1))]
Decay = Annotated[float, AfterValidator(Within(0, 1, below=True))]
LearningRate = Annotated[Schedule, AfterValidator(ScheduleWithin(Within(0, 1e15), some=True))]
Weight = Annotated[Schedule, AfterValidator(ScheduleWithin(Within(0, 1e15)))]
Probability = Annotated[Schedule, AfterValidator(ScheduleWithin(Within(0, 1)))]

SIGMA_INIT = {"independent": 0.017, "factorised": 0.5}
RANK = 4
SAMPLES = {"pathwise": 1, "score": 10}
RESAMPLE = "when acting draws new weights: at every step, or once an episode"
THETA_SAMPLES = "one weight sample for each tuple of a minibatch or one for all of it"


NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\z"
Name = Annotated[str, StringConstraints(pattern=NAME)]
STORE = r"^(sqlite:///|(postgresql|mysql|mssql)(\+[a-z0-9]+)?://|https?://)\S+\z"

OUT = "a folder path without '..', a leading '~' and blanks at its ends"


def refuse(key: str, value: object, allowed: str) -> PydanticCustomError:
    """Return the error of a model whose ``key`` does not go with its other keys."""
    return PydanticCustomError(
        "pair", "{allowed}", {"key": key, "value": value, "allowed": allowed}
    )


def later(default: Any, description: str) -> Any:
    """Return a field that came when runs had been kept already.

    At its default a run is what it was before: the key is left out of the run's identity.
    """
    return Field(default, description=description, json_schema_extra={"later": True})


def with_usual(data: Any, key: str, other: str, usual: Mapping[str, float]) -> Any:
    """Return raw settings with a missing or null ``key`` replaced by what is usual for ``other``.

    The first entry of ``usual`` is that of the default of ``other``, and of what is no choice.
    """
    if not isinstance(data, dict) or data.get(key) is not None:
        return data
    chosen = data.get(other)
    first = next(iter(usual.values()))
    return {**data, key: usual.get(chosen, first) if isinstance(chosen, str) else first}


class ChainEnv(Settings):
    """The chain of N states (appendix "Chain MDP")."""

    kind: Literal["chain"] = Field("chain", description="the chain MDP")
    n: Annotated[int, AfterValidator(Within(3, 10_000))] = Field(
        description="number of states N, 10 unless given; an episode lasts N + 9 steps"
    )
    gamma: Discount = Field(1.0, description="discount factor")


class StochasticChainEnv(Settings):
    """The chain on which going right sometimes fails (Osband, Van Roy and Wen 2016)."""

    kind: Literal["stochastic_chain"] = Field(
        "stochastic_chain", description="the chain on which going right may fail"
    )
    n: Annotated[int, AfterValidator(Within(3, 10_000))] = Field(
        description="number of states N, 10 unless given; an episode lasts N + 9 steps"
    )
    slip: Annotated[float, AfterValidator(Within(0, 1))] | None = Field(
        None, description="probability that an action right goes left; null is 1 / N"
    )
    gamma: Discount = Field(1.0, description="discount factor")


class DeepSeaEnv(Settings):
    """Deep sea (Osband et al. 2019), as bsuite defines it."""

    kind: Literal["deep_sea"] = Field("deep_sea", description="a dive that must go right N times")
    n: Annotated[int, AfterValidator(Within(2, 100))] = Field(
        description="rows and columns N, 10 unless given; an episode lasts N steps"
    )
    stochastic: bool = Field(
        False, description="whether going right fails with probability 1 / N and ends are noisy"
    )
    mapping_seed: Annotated[int, AfterValidator(Within(0, 2**32 - 1))] = Field(
        42, description="which table says what each action does in each cell; 42 is bsuite's"
    )
    gamma: Discount = Field(0.99, description="discount factor")


class GymEnv(Settings):
    """A gymnasium environment with a Box observation and Discrete actions."""

    kind: Literal["gym"] = Field("gym", description="any gymnasium environment")
    id: Annotated[str, StringConstraints(min_length=1)] = Field(description="which environment")
    gamma: Discount = Field(0.99, description="discount factor")
    bootstrap_on_timeout: bool = Field(
        False, description="whether an end by the time limit keeps the value of what would follow"
    )
    max_episode_steps: Annotated[int, AfterValidator(Within(1, LONGEST_EPISODE))] | None = Field(
        None, description="time limit in steps; null is the id's own"
    )


class NetworkConfig(Settings):
    """The multilayer perceptron with ReLU that maps an observation to Q-values."""

    hidden: Annotated[tuple[Width, ...], Field(strict=False, min_length=1, max_length=32)] = Field(
        (100, 100), description="widths of the hidden layers, as far as memory goes"
    )
    dueling: bool = later(
        False, "whether the last layer gives a state's value and advantages (Wang et al. 2016)"
    )


class OptimizerConfig(Settings):
    """Adam."""

    beta1: Decay = Field(0.9, description="decay of Adam's mean of gradients")
    beta2: Decay = Field(0.999, description="decay of Adam's mean of squared gradients")
    eps: Positive = Field(1e-8, description="what Adam adds to the denominator")


PRIORITY_BETA = LinearSchedule(start=0.4, end=1.0, duration=1000, unit="episodes")


class ReplayConfig(Settings):
    """The replay memory, sampled uniformly or by priority (Schaul et al. 2016)."""

    capacity: Annotated[int, AfterValidator(Within(1, 10**9))] = Field(
        1_000_000,
        description="transitions kept of each seed, allocated as needed; their places are "
        "numbered in 32 bits",
    )
    alpha: Annotated[float, AfterValidator(Within(0, 1))] = later(
        0.0, "power of a transition's priority, usually 0.6; 0 samples uniformly"
    )
    beta: Probability | None = later(
        None,
        "how far the bias of priorities is undone: 1 in full; null: from 0.4 to 1 in the first "
        "1000 episodes; needs alpha",
    )
    floor: Positive = later(1e-6, "what a priority has beyond the error's size; needs alpha")

    @model_validator(mode="after")
    def _priorities_are_used(self) -> "ReplayConfig":
        """Refuse settings of priorities where there are none."""
        if self.alpha == 0:
            allowed = "has no effect where algo.replay.alpha is 0; give alpha too, like 0.6"
            if self.beta is not None:
                raise refuse("beta", self.beta.model_dump(), allowed)
            if self.floor != 1e-6:
                raise refuse("floor", self.floor, allowed)
        return self

    @property
    def undoing(self) -> AnySchedule:
        """The schedule that ``beta`` names."""
        return PRIORITY_BETA if self.beta is None else self.beta


class VimeConfig(Settings):
    """The intrinsic reward of VIME (Houthooft et al. 2016), which any algorithm can have."""

    eta: Annotated[float, AfterValidator(Within(0, 1e15))] = Field(
        0.0,
        description="weight of the information gain that is added to rewards in replay, not in "
        "logs; 0 for none",
    )
    hidden: Annotated[tuple[Width, ...], Field(strict=False, min_length=1, max_length=32)] = Field(
        (32,), description="widths of the dynamics model's hidden layers; needs eta, as all below"
    )
    lr: Positive = Field(1e-3, description="Adam's step size for the dynamics model")
    batch_size: Annotated[int, AfterValidator(Within(1, 10**6))] = Field(
        10, description="transitions in a minibatch of the dynamics model"
    )
    train_every: Steps = Field(1, description="steps between updates of the dynamics model")
    sigma_prior: Positive = Field(
        0.5, description="standard deviation of the prior of every weight, and the first posterior"
    )
    step: Positive = Field(
        0.01, description="lambda, the length of the update by which information gain is measured"
    )
    window: Annotated[int, AfterValidator(Within(1, 10_000))] = Field(
        10, description="last episodes whose median information gains normalise the next ones"
    )

    @model_validator(mode="after")
    def _settings_are_used(self) -> "VimeConfig":
        """Refuse settings of the intrinsic reward where there is none."""
        if self.eta == 0:
            for key, field in type(self).model_fields.items():
                if getattr(self, key) != field.default:
                    allowed = "has no effect where algo.vime.eta is 0; give eta too, like 0.01"
                    raise refuse(key, getattr(self, key), allowed)
        return self


class AlgoConfig(Settings):
    """What all algorithms share."""

    lr: LearningRate = Field(ConstantSchedule(value=1e-3), description="Adam's step size")
    batch_size: Annotated[int, AfterValidator(Within(1, 10**6))] = Field(
        64, description="transitions in a minibatch, drawn and held at once"
    )
    target_period: Steps = Field(100, description="steps between copies to the target")
    learning_starts: Steps = Field(500, description="transitions collected before the first update")
    train_every: Steps = Field(1, description="steps between updates")
    reward_scale: Positive = Field(1.0, description="factor on rewards in the loss, not in logs")
    double: bool = later(
        False, "whether the online network chooses the action of a target (van Hasselt et al. 2016)"
    )
    network: NetworkConfig = Field(NetworkConfig(), description="the Q-network")
    optimizer: OptimizerConfig = Field(OptimizerConfig(), description="Adam's other settings")
    replay: ReplayConfig = Field(ReplayConfig(), description="the replay memory")
    vime: VimeConfig = later(VimeConfig(), "the intrinsic reward")

    @property
    def plain(self) -> bool:
        """Whether learning is as in the paper: no double targets, dueling heads or priorities."""
        return not (self.double or self.network.dueling or self.replay.alpha)

    @property
    def n_heads(self) -> int:
        """How many sets of Q-values the network gives."""
        return 1

    @property
    def n_spikes(self) -> int:
        """How many episodes of the best policy replay holds before training."""
        return 0

    @model_validator(mode="after")
    def _replay_is_large_enough(self) -> "AlgoConfig":
        """Refuse a replay memory that can never hold what is asked of it."""
        capacity = self.replay.capacity
        for key in ("batch_size", "learning_starts"):
            value = getattr(self, key)
            if value > capacity:
                raise refuse(
                    key, value, f"must not be larger than algo.replay.capacity, which is {capacity}"
                )
        return self


class VDQNConfig(AlgoConfig):
    """Variational DQN (Algorithm 1)."""

    name: Literal["vdqn"] = Field("vdqn", description="Variational DQN")
    lam: Weight = Field(
        ConstantSchedule(value=0.02), description="weight lambda of the entropy (equations 5 and 6)"
    )
    resample: Literal["step", "episode"] = Field("step", description=RESAMPLE)
    theta_samples: Literal["per_tuple", "per_batch"] = Field("per_tuple", description=THETA_SAMPLES)
    sigma_init: Positive = Field(0.017, description="initial standard deviation of every weight")


class DQNConfig(AlgoConfig):
    """DQN with epsilon-greedy acting."""

    name: Literal["dqn"] = Field("dqn", description="DQN")
    epsilon: Probability = Field(
        ConstantSchedule(value=0.1), description="probability of a uniformly random action"
    )
    loss: Literal["mse", "huber"] = Field("mse", description="mean loss of the Bellman error")


class NoisyNetConfig(AlgoConfig):
    """DQN with noisy layers (Fortunato et al. 2017)."""

    name: Literal["noisynet"] = Field("noisynet", description="NoisyNet-DQN")
    noise: Literal["independent", "factorised"] = Field(
        "independent", description="one noise a weight, or a product of one a row and one a column"
    )
    resample: Literal["step", "episode"] = Field("step", description=RESAMPLE)
    theta_samples: Literal["per_batch", "per_tuple"] = Field("per_batch", description=THETA_SAMPLES)
    sigma_init: Positive = Field(
        SIGMA_INIT["independent"],
        description="initial noise; null: 0.017 independent, 0.5 (over root fan-in) factorised",
    )

    @model_validator(mode="before")
    @classmethod
    def _sigma_follows_noise(cls, data: Any) -> Any:
        """Replace a missing or null ``sigma_init`` by the value usual for ``noise``."""
        return with_usual(data, "sigma_init", "noise", SIGMA_INIT)

    @model_validator(mode="after")
    def _factorised_noise_is_shared(self) -> "NoisyNetConfig":
        """Refuse factorised noise per tuple: it has no exact shortcut over the weights."""
        if self.noise == "factorised" and self.theta_samples == "per_tuple":
            raise refuse(
                "theta_samples", self.theta_samples, "must be per_batch where noise is factorised"
            )
        return self


class BootstrappedConfig(AlgoConfig):
    """Bootstrapped DQN (Osband et al. 2016), with prior functions (Osband et al. 2018)."""

    name: Literal["bootstrapped"] = Field("bootstrapped", description="Bootstrapped DQN")
    heads: Annotated[int, AfterValidator(Within(1, 1000))] = Field(
        10, description="heads on the shared hidden layers; one acts throughout an episode"
    )
    mask_probability: Annotated[float, AfterValidator(Within(0, 1, above=True))] = Field(
        0.5, description="probability that a head learns from a transition"
    )
    prior_scale: Annotated[float, AfterValidator(Within(0, 1e15))] = Field(
        0.0, description="factor on the fixed random network added to the heads; 0 for none"
    )

    @property
    def n_heads(self) -> int:
        """Of the shared layers."""
        return self.heads


class BBQConfig(AlgoConfig):
    """BBQ network (Lipton et al. 2018): Bayes by backprop with Thompson sampling."""

    name: Literal["bbq"] = Field("bbq", description="BBQ network")
    prior_sigma: Positive = Field(
        1.0, description="standard deviation of the Gaussian prior on every weight"
    )
    noise_sigma: Positive = Field(
        0.1, description="standard deviation of a target about its Q-value, in the likelihood"
    )
    kl_weight: Weight | None = Field(
        None,
        description="weight of the KL from the prior in a minibatch's loss; null: the minibatch's "
        "share of the replay memory (Blundell et al. 2015)",
    )
    resample: Literal["step", "episode"] = Field("step", description=RESAMPLE)
    sigma_init: Positive = Field(0.017, description="initial standard deviation of every weight")
    spike_episodes: Annotated[int, AfterValidator(Within(0, 10_000))] = Field(
        0,
        description="replay spiking: episodes of the best policy put into the replay memory "
        "before training; for environments that know theirs: chains and deep sea",
    )

    @property
    def n_spikes(self) -> int:
        """As many as are asked for."""
        return self.spike_episodes


class VariationalConfig(AlgoConfig):
    """VDQN's objective (equation 7) under other families, priors and estimators."""

    name: Literal["variational"] = Field("variational", description="VDQN's objective, other q")
    family: Literal["gaussian", "laplace", "low_rank", "point"] = Field(
        "gaussian", description="the distribution over the weights; point is a point mass (MAP)"
    )
    rank: Annotated[int, AfterValidator(Within(1, 64))] = Field(
        RANK, description="rank of what a covariance has beyond its diagonal; of low_rank alone"
    )
    estimator: Literal["pathwise", "score"] = Field(
        "pathwise", description="of the gradient: through the sample, or by its log density"
    )
    samples: Annotated[int, AfterValidator(Within(1, 1000))] = Field(
        SAMPLES["pathwise"],
        description="weight samples that a minibatch is judged by; null: 1 pathwise, 10 score",
    )
    prior_sigma: Annotated[float, AfterValidator(Within(1e-15, 1e15))] | None = Field(
        None, description="standard deviation of a Gaussian prior; null is the uniform prior"
    )
    lam: Weight = Field(
        ConstantSchedule(value=0.02), description="weight lambda of the KL (equations 5 and 6)"
    )
    resample: Literal["step", "episode"] = Field("step", description=RESAMPLE)
    sigma_init: Positive = Field(
        SIGMA_INIT["independent"], description="initial standard deviation of every weight"
    )

    @model_validator(mode="before")
    @classmethod
    def _samples_follow_the_estimator(cls, data: Any) -> Any:
        """Replace a missing or null ``samples`` by the number usual for ``estimator``."""
        return with_usual(data, "samples", "estimator", SAMPLES)

    @model_validator(mode="after")
    def _settings_are_used(self) -> "VariationalConfig":
        """Refuse settings that have no meaning beside the others."""
        if self.family == "point":
            for key, only in (("estimator", "pathwise"), ("samples", 1), ("resample", "step")):
                if getattr(self, key) != only:
                    allowed = f"must be {only} where family is point: there is nothing to draw"
                    raise refuse(key, getattr(self, key), allowed)
            if self.sigma_init != SIGMA_INIT["independent"]:
                allowed = "has no effect where algo.family is point"
                raise refuse("sigma_init", self.sigma_init, allowed)
        if self.family != "low_rank" and self.rank != RANK:
            raise refuse("rank", self.rank, "has no effect unless algo.family is low_rank")
        if self.estimator == "score" and self.samples < 2:
            allowed = "must be at least 2 where estimator is score: it compares them"
            raise refuse("samples", self.samples, allowed)
        return self


class EvaluateConfig(Settings):
    """Greedy trials between the episodes of training; training does not notice them."""

    every: Annotated[int, AfterValidator(Within(0, MOST_EPISODES))] = Field(
        100, description="episodes of training between evaluations and one at the end; 0 for none"
    )
    episodes: Annotated[int, AfterValidator(Within(1, 10_000))] = Field(
        5, description="greedy episodes of each policy in an evaluation, played at once"
    )


class NoTracker(Settings):
    """The CSV logs alone."""

    kind: Literal["none"] = Field("none", description="no tracker")


class TensorBoardTracker(Settings):
    """Event files for TensorBoard, in each seed's folder."""

    kind: Literal["tensorboard"] = Field("tensorboard", description="TensorBoard")


class MLflowTracker(Settings):
    """An MLflow database or server."""

    kind: Literal["mlflow"] = Field("mlflow", description="MLflow")
    uri: Annotated[str, StringConstraints(pattern=STORE)] | None = Field(
        None, description="database or server; null is the SQLite file mlflow.db in `out`"
    )
    experiment: Name = Field("vdqn-runner", description="MLflow's experiment")


class WandbTracker(Settings):
    """Weights & Biases."""

    kind: Literal["wandb"] = Field("wandb", description="Weights & Biases")
    mode: Literal["offline", "online"] = Field(
        "offline",
        description="offline writes files into each seed's folder, for `wandb sync`, and never "
        "uses the network; online sends to the account of `wandb login`",
    )
    project: Name = Field("vdqn-runner", description="W&B's project")
    entity: Name | None = Field(None, description="W&B's user or team; null is the account's own")


Env = Annotated[ChainEnv | StochasticChainEnv | DeepSeaEnv | GymEnv, Field(discriminator="kind")]
Algo = Annotated[
    VDQNConfig | DQNConfig | NoisyNetConfig | BootstrappedConfig | BBQConfig | VariationalConfig,
    Field(discriminator="name"),
]
Tracker = Annotated[
    NoTracker | TensorBoardTracker | MLflowTracker | WandbTracker, Field(discriminator="kind")
]


class RunConfig(Settings):
    """One run: an algorithm on an environment with some seeds."""

    name: Name = Field(
        "default", description="the first folder below `out`, by which plots find the run"
    )
    seed: Annotated[int, AfterValidator(Within(0, 2**32 - 1))] = Field(
        0, description="the first seed"
    )
    n_seeds: Annotated[int, AfterValidator(Within(1, 100_000))] = Field(
        5,
        description="how many seeds train in lockstep, counted from `seed`; each has a folder and "
        "an environment",
    )
    episodes: Episodes = Field(
        description="episodes of each seed: 2000 on the chain, 1000 elsewhere; with at most 10^6 "
        "steps each, every count of steps is exact in the logs"
    )
    device: Literal["cpu", "cuda"] = Field("cpu", description="where the networks live")
    workers: Literal["auto"] | Processors = Field(
        "auto",
        description="processes among which the seeds are dealt; auto is as many as there are "
        "processors to use, and seeds",
    )
    threads: Processors = Field(
        1,
        description="threads of the numerical library in each process; no machine has more "
        "processors than the most of them",
    )
    out: Annotated[str, StringConstraints(min_length=1)] = Field(
        "runs", description="the folder for results"
    )
    log_every: Episodes = Field(
        1, description="iterations (10 episodes each) per row of updates.csv"
    )
    checkpoint_every: Steps = Field(10_000, description="steps between checkpoints")
    policy_every: Annotated[int, AfterValidator(Within(0, MOST_EPISODES))] = Field(
        0, description="episodes between copies of the policy, kept in policies/; 0 for none"
    )
    evaluate: EvaluateConfig = Field(EvaluateConfig(), description="greedy trials")
    quiet: bool = Field(False, description="whether to print nothing but errors")
    env: Env = Field(description="the environment")
    algo: Algo = Field(description="the algorithm")
    tracker: Tracker = Field(NoTracker(), description="where the logs are sent too")

    @property
    def seeds(self) -> range:
        """The seeds of the run."""
        return range(self.seed, self.seed + self.n_seeds)

    @model_validator(mode="after")
    def _spikes_are_known(self) -> "RunConfig":
        """Refuse episodes of the best policy where nobody knows it."""
        spikes = self.algo.n_spikes
        if spikes and isinstance(self.env, GymEnv):
            allowed = "must be 0 on gymnasium environments, whose best policy is not known"
            raise refuse("algo.spike_episodes", spikes, allowed)
        return self

    @model_validator(mode="after")
    def _stays_inside(self) -> "RunConfig":
        """Refuse seeds that are too large, and a results folder that climbs out of its start."""
        if self.seed + self.n_seeds > 2**32:
            allowed = f"seed + n_seeds must not be above {2**32}, and n_seeds is {self.n_seeds}"
            raise refuse("seed", self.seed, allowed)
        if (
            ".." in self.out.split("/")
            or not self.out.isprintable()
            or self.out != self.out.strip()
            or self.out.startswith("~")
        ):
            raise refuse("out", self.out, f"must be {OUT}")
        return self


GROUPS: dict[str, dict[str, type[Settings]]] = {
    "env": {
        "chain": ChainEnv,
        "stochastic_chain": StochasticChainEnv,
        "deep_sea": DeepSeaEnv,
        "gym": GymEnv,
    },
    "algo": {
        "vdqn": VDQNConfig,
        "dqn": DQNConfig,
        "noisynet": NoisyNetConfig,
        "bootstrapped": BootstrappedConfig,
        "bbq": BBQConfig,
        "variational": VariationalConfig,
    },
    "tracker": {
        "none": NoTracker,
        "tensorboard": TensorBoardTracker,
        "mlflow": MLflowTracker,
        "wandb": WandbTracker,
    },
}
DISCRIMINATORS = {"env": "kind", "algo": "name", "tracker": "kind"}
