"""The base of every settings model: strict, frozen, closed."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A group of settings that knows all its keys, converts nothing and never changes."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True
    )
