"""Monte Carlo estimators of an expectation over theta ~ q_phi whose gradient is that in phi.

Costs are those of M samples, a tensor ``[S]`` each. They are added up one by one: a sum over M
inside one tensor is cut differently for other S.
"""

from collections.abc import Sequence

from torch import Tensor


def mean_of(values: Sequence[Tensor]) -> Tensor:
    """Return the mean of equally shaped tensors.

    Of costs that are differentiable through their theta = theta(phi, eps), this is the pathwise
    estimator of their expectation (Kingma and Welling 2014).
    """
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total / len(values)


def score_function(costs: Sequence[Tensor], log_densities: Sequence[Tensor]) -> Tensor:
    """Return the mean cost ``[S]``; its gradient is the score function's (REINFORCE).

    With costs f_m of samples theta_m that are taken as given, and log q_phi(theta_m)::

        1/M sum_m (f_m - 1/(M-1) sum_{k != m} f_k) grad log q_phi(theta_m)

    The mean of the other costs is a control variate that is independent of theta_m and so leaves
    the expectation as it is (Mnih and Rezende 2016; Kool, van Hoof and Welling 2019). M >= 2.
    """
    count = len(costs)
    mean = mean_of([cost.detach() for cost in costs])
    # f_m less the mean of the others is M / (M-1) times f_m less the mean of all.
    scores = [
        (cost.detach() - mean) * (count / (count - 1)) * log_density
        for cost, log_density in zip(costs, log_densities, strict=True)
    ]
    score = mean_of(scores)
    # 0 in value: what is logged is the mean cost.
    return mean + (score - score.detach())
