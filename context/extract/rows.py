"""Rows stored by columns: read at once, with values made only on access."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

Row = TypeVar("Row")


class Rows(Sequence[Row], Generic[Row]):
    """A sequence of named tuples over columns of equal length."""

    def __init__(self, make: Callable[[Iterator[Any]], Row], columns: Sequence[Sequence[Any]]) -> None:
        """Take the columns in the order of the fields.

        Args:
            make: Makes a row of its values.
            columns: At least one.

        Raises:
            ValueError: The columns differ in length.
        """
        if len({len(column) for column in columns}) != 1:
            raise ValueError("columns of different lengths")
        self._make = make
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return self._make(column[at] for column in self.columns)

    def __iter__(self) -> Iterator[Row]:
        return (self._make(iter(values)) for values in zip(*self.columns, strict=True))
