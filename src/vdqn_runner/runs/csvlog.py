"""CSV logs of numbers and names that are cut back on resume and read back bit for bit.

The format is RFC 4180 with a header, ``.`` decimals and a line feed alone as line end. A float is
printed as the shortest decimal that reads back to the same float64; one that is not a number as
``nan`` (all NaNs are one), infinities as ``inf`` and ``-inf``. ``float()`` and ``pandas.read_csv``
read all of them. pandas gives the same bits by default from 3.1 on; its older versions need
``float_precision="round_trip"``.
"""

import csv
import io
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import SupportsFloat

from vdqn_runner.errors import RunError
from vdqn_runner.runs.atomic import cannot_write

# Rows wait in memory up to about this many bytes before they are written unasked.
_BUFFER_BYTES = 1 << 16
_TAIL_BYTES = 1 << 16

Cell = SupportsFloat | str


class CsvLog:
    """One append-only CSV file; rows are buffered and reach the file as whole lines."""

    def __init__(
        self,
        path: Path,
        columns: Sequence[str],
        offset: int | None,
        checksum: int | None = None,
    ) -> None:
        """Open ``path`` for append and write the header if the file is empty.

        Args:
            path: The file; made if missing.
            columns: Names of the columns, in order.
            offset: Cut the file back to this many bytes first: the checkpoint's ``offset()``, or 0
                to begin anew. None keeps every whole line and cuts a torn last one.
            checksum: The checkpoint's ``checksum()``, which what is left must have; None for any.

        Raises:
            RunError: the file is shorter than ``offset``, ``offset`` is inside a line, the file's
                header holds other columns, its bytes are not those that were written, or it cannot
                be written.
        """
        self.path = path
        self.columns = tuple(columns)
        header = _line(self.columns)
        try:
            self._file = open(path, "ab+", buffering=0)  # noqa: SIM115 (closed by close())
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            self._size = _cut(self._file, path, offset)
            _check_header(self._file, path, header, self._size)
            self._checksum = zlib.crc32(_read(self._file, 0, self._size))
            if checksum not in (None, self._checksum):
                raise RunError(
                    f"{path} was changed since its checkpoint was taken; delete the seed's folder "
                    "to train it again"
                )
        except OSError as error:
            self._file.close()
            raise cannot_write(path, error) from error
        except BaseException:
            self._file.close()
            raise
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        if self._size == 0:
            self._append(header)

    def write(self, row: Mapping[str, Cell] | Sequence[Cell]) -> None:
        """Add one row: a number or a name for every column, by column or in order.

        Python, NumPy and torch scalars are taken; booleans become 0 and 1. A name is what Python
        takes for one, so a line of the file is a row.

        Raises:
            ValueError: a column is missing or there is one too many.
            TypeError: a value is neither a real number nor a name.
            RunError: the file cannot be written.
        """
        if isinstance(row, Mapping):
            if row.keys() != set(self.columns):
                odd = sorted(row.keys() ^ set(self.columns))
                raise ValueError(f"{self.path.name}: missing or unknown columns {odd}")
            row = [row[column] for column in self.columns]
        elif len(row) != len(self.columns):
            raise ValueError(f"{self.path.name}: {len(row)} values, {len(self.columns)} columns")
        self._append(_line([_text(value) for value in row]))

    def flush(self, sync: bool = False) -> None:
        """Hand all rows to the system; with ``sync`` return once they are on the disk.

        A checkpoint that records ``offset()`` must be preceded by ``flush(sync=True)``: otherwise a
        power cut may leave a checkpoint that knows more rows than the file has.

        Raises:
            RunError: the file cannot be written; rows not written are dropped. Or, with ``sync``,
                it is no longer there or another program has changed its size.
        """
        data = memoryview(b"".join(self._pending))
        self._pending.clear()
        self._pending_bytes = 0
        try:
            while data:
                written = self._file.write(data)
                self._size += written
                self._checksum = zlib.crc32(data[:written], self._checksum)
                data = data[written:]
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from error
        if sync:
            self._check_in_place()

    def offset(self) -> int:
        """Flush and return the size of the file in bytes."""
        self.flush()
        return self._size

    def checksum(self) -> int:
        """Flush and return the CRC-32 of the file's bytes."""
        self.flush()
        return self._checksum

    def close(self) -> None:
        """Flush and close; closing twice is allowed."""
        if self._file.closed:
            return
        try:
            self.flush()
        finally:
            self._file.close()

    def __enter__(self) -> "CsvLog":
        """Return the log itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the log."""
        self.close()

    def _check_in_place(self) -> None:
        """Refuse to go on with a file that nobody would find: its rows would be lost unnoticed."""
        try:
            size = os.stat(self.path).st_size
        except OSError as error:
            raise cannot_write(self.path, error) from error
        if size != self._size:
            raise RunError(
                f"{self.path} has {size} bytes where {self._size} were written: another program "
                "changed it; delete the seed's folder to train it again"
            )

    def _append(self, line: bytes) -> None:
        self._pending.append(line)
        self._pending_bytes += len(line)
        if self._pending_bytes >= _BUFFER_BYTES:
            self.flush()


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def _text(value: Cell) -> str:
    if isinstance(value, str) and value.isidentifier():
        return value
    # NumPy and torch scalars give the Python number that holds exactly their value.
    item = getattr(value, "item", None)
    number = value if item is None else item()
    if isinstance(number, float):
        return repr(float(number))
    if isinstance(number, int):
        return str(int(number))
    raise TypeError(f"{value!r} is not a number that a log can hold")


def _cut(file: io.FileIO, path: Path, offset: int | None) -> int:
    """Cut the file to ``offset``, or to its last whole line, and return its new size."""
    size = file.seek(0, os.SEEK_END)
    if offset is None:
        offset = _end_of_last_line(file, size)
    elif size < offset:
        raise RunError(
            f"{path} has {size} bytes but its checkpoint was taken at {offset}: the file was "
            "changed; delete the seed's folder to train it again"
        )
    elif offset > 0 and _read(file, offset - 1, 1) != b"\n":
        raise RunError(
            f"{path} has no end of line at byte {offset}, where its checkpoint was taken: the file "
            "was changed; delete the seed's folder to train it again"
        )
    if offset < size:
        file.truncate(offset)
    return offset


def _end_of_last_line(file: io.FileIO, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - _TAIL_BYTES)
        newline = _read(file, start, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _check_header(file: io.FileIO, path: Path, header: bytes, size: int) -> None:
    found = _read(file, 0, min(size, len(header)))
    if size > 0 and found != header:
        raise RunError(
            f"{path} does not begin with the columns {header.decode().strip()}: it was written by "
            "another version; delete the seed's folder to train it again"
        )


def _read(file: io.FileIO, start: int, count: int) -> bytes:
    file.seek(start)
    parts = []
    while count > 0 and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
