"""Checkpoints: complete, checked and never lost, whenever the process dies.

A checkpoint file is a header (magic, format version, length of the body, SHA-256 of all of these
and the body) and a body that ``torch.save`` wrote. It holds tensors and plain Python values only,
so it is read with ``weights_only=True`` and can run no code.

    checkpoint.pt.tmp    being written, or just complete
    checkpoint.pt        the newest
    checkpoint.prev.pt   the one before
"""

import hashlib
import io
import logging
import os
import struct
import sys
from pathlib import Path
from typing import Any

import torch

from vdqn_runner.errors import RunError
from vdqn_runner.runs.atomic import (
    cannot_write,
    sync_folder,
    temporary_path,
    write_atomic,
    write_synced,
)
from vdqn_runner.runs.folder import CHECKPOINT, PREVIOUS_CHECKPOINT

FORMAT_VERSION = 1
_MAGIC = b"VDQN-CKP"
_FIELDS = struct.Struct(">8sIQ")
_DIGEST_BYTES = hashlib.sha256().digest_size

_log = logging.getLogger(__name__)


def save_checkpoint(folder: Path, payload: dict[str, Any]) -> None:
    """Write ``folder``/checkpoint.pt; the one before stays as checkpoint.prev.pt.

    At every instant at least one complete checkpoint is in the folder, once there was one. The
    caller holds the folder's lock and has synced the logs whose offsets the payload records.

    Args:
        folder: The seed's folder.
        payload: Tensors, and dicts, lists and tuples of them and of plain bool, int, float, str,
            bytes and None. Tensors are stored without gradient, on the CPU, and a view stores
            its own elements only.

    Raises:
        TypeError: the payload holds something else, named by its place.
        RunError: the file cannot be written; the checkpoint before is untouched.
    """
    body = _serialise(payload)
    fields = _FIELDS.pack(_MAGIC, FORMAT_VERSION, len(body))
    newest, previous = folder / CHECKPOINT, folder / PREVIOUS_CHECKPOINT
    temporary = temporary_path(newest)
    write_synced(temporary, [fields, _digest(fields, body), body], newest)
    try:
        # A death between the two renames leaves the new one complete under its temporary name.
        if newest.exists():
            os.replace(newest, previous)
        os.replace(temporary, newest)
    except OSError as error:
        raise cannot_write(newest, error) from error
    sync_folder(folder)


def load_checkpoint(folder: Path) -> dict[str, Any] | None:
    """Read the newest complete checkpoint of ``folder``, tensors on the CPU.

    An unreadable one (cut short, altered, not made here) is skipped with a logged warning.

    Returns:
        The payload as saved, or None if no checkpoint was ever completed.

    Raises:
        RunError: there are checkpoints, and none can be read.
    """
    newest, previous = folder / CHECKPOINT, folder / PREVIOUS_CHECKPOINT
    temporary = temporary_path(newest)
    faults: list[str] = []
    for path in (newest, temporary, previous):
        if not path.exists():
            continue
        payload, fault = _read(path)
        if payload is not None:
            for line in faults:
                _log.warning("%s; going on from %s", line, path.name)
            return payload
        # A temporary file cut short is what any kill during a save leaves: no fault to tell.
        if path != temporary:
            faults.append(f"{path} {fault}")
    if faults:
        raise RunError("; ".join(faults) + "; delete the seed's folder to train it again")
    return None


def save_policy(path: Path, payload: dict[str, Any]) -> None:
    """Write parameters to ``path`` atomically, for ``torch.load(path, weights_only=True)``.

    Raises:
        TypeError: the payload holds something that ``save_checkpoint`` does not allow.
        RunError: the file cannot be written.
    """
    write_atomic(path, [_serialise(payload)])


def _serialise(payload: dict[str, Any]) -> memoryview:
    buffer = io.BytesIO()
    torch.save(_plain(payload, "payload"), buffer)
    return buffer.getbuffer()


def _plain(value: Any, place: str) -> Any:
    """Return a copy that ``weights_only=True`` will load, or say what in it would not."""
    # Exact types: a NumPy float64 is a float, but its pickle is not that of one.
    kind = type(value)
    if kind is torch.Tensor:
        tensor = value.detach().cpu()
        # torch.save writes the whole storage: for one seed's row, the rows of all seeds.
        whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
        return tensor if whole else tensor.clone()
    if kind is dict:
        return {
            _plain(key, f"key {key!r} of {place}"): _plain(item, f"{place}[{key!r}]")
            for key, item in value.items()
        }
    if kind in (list, tuple):
        return kind(_plain(item, f"{place}[{index}]") for index, item in enumerate(value))
    if kind is str:
        # Pickle writes one string object once and two equal ones twice: make the bytes a function
        # of the values alone.
        return sys.intern(value)
    if value is None or kind in (bool, int, float, bytes):
        return value
    raise TypeError(f"{place} is a {kind.__module__}.{kind.__qualname__}: not a tensor or plain")


def _digest(fields: bytes, body: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(fields)
    digest.update(body)
    return digest.digest()


def _read(path: Path) -> tuple[dict[str, Any] | None, str]:
    """Return the payload, or None and what is wrong with the file."""
    try:
        with open(path, "rb") as file:
            fields, digest, body = file.read(_FIELDS.size), file.read(_DIGEST_BYTES), file.read()
    except OSError as error:
        return None, f"cannot be read: {error.strerror or error}"
    if len(fields) + len(digest) < _FIELDS.size + _DIGEST_BYTES:
        return None, "is cut short"
    magic, version, length = _FIELDS.unpack(fields)
    if magic != _MAGIC:
        return None, "is not a checkpoint"
    if length != len(body):
        return None, f"has {len(body)} bytes of data where {length} belong"
    if digest != _digest(fields, body):
        return None, "is damaged (checksum)"
    if version != FORMAT_VERSION:
        return None, f"has format {version}; this version reads format {FORMAT_VERSION}"
    try:
        payload = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # whatever bytes made elsewhere can provoke in the unpickler
        return None, f"is refused ({type(error).__name__})"
    if type(payload) is not dict:
        return None, "holds no dict"
    return payload, ""
