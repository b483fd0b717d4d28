"""Sums of numbers in binary trees, one tree a seed: proportional sampling in log time."""

import numpy as np


class SumTrees:
    """For each of S seeds, numbers >= 0 at ``n_places`` places, at first 0, and their sums.

    An inner node holds the sum of its two children, always added up afresh, so that the nodes
    depend on the numbers alone and not on the order in which they came.
    """

    def __init__(self, n_seeds: int, n_places: int) -> None:
        """Lay the trees out: node 1 is the root, children of i are 2 i and 2 i + 1."""
        self._leaves = 1 << max(n_places - 1, 1).bit_length()
        self._nodes = np.zeros((n_seeds, 2 * self._leaves))

    @property
    def total(self) -> np.ndarray:
        """The sum of all numbers of each seed, ``[S]``."""
        total: np.ndarray = self._nodes[:, 1]
        return total

    def at(self, places: np.ndarray) -> np.ndarray:
        """Return the numbers at ``places`` [S, B]."""
        return np.take_along_axis(self._nodes, self._leaves + places, axis=1)

    def set(self, places: np.ndarray, values: np.ndarray) -> None:
        """Put ``values`` [S, B] at ``places`` [S, B]; of equal places the last one counts."""
        rows = np.arange(len(self._nodes))[:, None]
        node = self._leaves + places
        self._nodes[rows, node] = values
        while node[0, 0] > 1:
            node = node >> 1
            self._nodes[rows, node] = self._nodes[rows, 2 * node] + self._nodes[rows, 2 * node + 1]

    def find(self, masses: np.ndarray) -> np.ndarray:
        """Return the places [S, B] at which the running sum first exceeds ``masses`` [S, B].

        Masses lie in [0, total). A place whose number is 0 is never returned, rounding included.
        """
        rows = np.arange(len(self._nodes))[:, None]
        node = np.ones(masses.shape, np.int64)
        left_over = masses.copy()
        while node[0, 0] < self._leaves:
            left, right = self._nodes[rows, 2 * node], self._nodes[rows, 2 * node + 1]
            # Rounding may leave a mass that no left-hand sum exceeds, beside an empty right side.
            goes_right = (left_over >= left) & (right > 0.0)
            left_over = np.where(goes_right, left_over - left, left_over)
            node = 2 * node + goes_right
        return node - self._leaves

    def values(self, row: int, count: int) -> np.ndarray:
        """Return a copy of the numbers at the first ``count`` places of one seed."""
        return self._nodes[row, self._leaves : self._leaves + count].copy()

    def fill(self, row: int, values: np.ndarray) -> None:
        """Put ``values`` [n] at the first n places of one seed, and 0 at the others."""
        nodes = self._nodes[row]
        nodes[:] = 0.0
        nodes[self._leaves : self._leaves + len(values)] = values
        start = self._leaves
        while start > 1:
            nodes[start // 2 : start] = (
                nodes[start : 2 * start : 2] + nodes[start + 1 : 2 * start : 2]
            )
            start //= 2

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._nodes = self._nodes[rows]
