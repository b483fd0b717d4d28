"""What settings files may ask for in `${...}` beyond OmegaConf's own."""

from vdqn_runner.config import paper_lr, system_lr


def register_resolvers() -> None:
    """Make them known to OmegaConf, in this process; harmless twice."""
    paper_lr.register()
    system_lr.register()
