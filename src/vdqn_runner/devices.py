"""Whether the device that a run asks for is there."""

from vdqn_runner.errors import ConfigError


def check_device(device: str) -> None:
    """Refuse a device that this machine lacks; only a question about a GPU imports torch.

    Raises:
        ConfigError: There is no such device.
    """
    if device == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        built = f"torch {torch.__version__}"
        raise ConfigError(f"device={device}: {built} finds no CUDA GPU here; device=cpu works")
