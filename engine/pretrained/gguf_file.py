"""A GGUF file: its metadata, and its tensors as float32, read and dequantised with the `gguf` library.

The library reports a damaged file by whatever breaks first inside it, so every way to fail becomes one
sentence here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from engine.config import AtlasError

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_BROKEN = (ValueError, IndexError, KeyError, TypeError, OverflowError, UnicodeDecodeError)


class _Reader(gguf.GGUFReader):
    """The library's reader with three changes.

    It slices a plain array: slicing a memmap 250,000 times takes three times as long. It takes an array of numbers as
    one: of a charsmap's 240,000 bytes the library would make a part each. And it stops where the file ends: the library
    would go on with empty slices up to whatever count it has read.
    """

    @property
    def data(self) -> np.ndarray:
        return self._data

    @data.setter
    def data(self, value: np.ndarray) -> None:
        self._data = np.asarray(value)

    def _get_field_parts(self, orig_offs, raw_type):
        if raw_type == gguf.GGUFValueType.ARRAY:
            kind, count = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
            number = self.gguf_scalar_to_np.get(kind[0])
            if number is not None and count[0]:
                values = self._get(orig_offs + 12, number, count[0])
                types = [gguf.GGUFValueType.ARRAY, gguf.GGUFValueType(kind[0])]
                return 12 + values.nbytes, [kind, count, values], [2], types
        return super()._get_field_parts(orig_offs, raw_type)

    def _get(self, offset, dtype, count=1, override_order=None):
        values = super()._get(offset, dtype, count, override_order)
        if len(values) != count:
            raise IndexError(f"it ends at byte {len(self._data)}")
        return values


class GgufFile:
    """An open GGUF file: `get(key)` reads its metadata, `shapes` and `tensor(name)` its tensors."""

    def __init__(self, path: Path) -> None:
        """Raises AtlasError for what is not a GGUF file, is cut short, or holds no tensors or unknown
        types.
        """
        self.path = path
        _check_header(path)
        with _one_sentence(path):
            self._reader = _Reader(path)
            self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        self._check_types()
        # outermost axis first as torch has it; the file lists them the other way round
        self.shapes = {
            name: tuple(int(n) for n in reversed(tensor.shape.tolist()))
            for name, tensor in self._tensors.items()
        }

    def get(self, key: str, default: Any = None) -> Any:
        """A metadata value as Python's own type (a string, a number, a list), `default` when the key is
        absent.
        """
        field = self._reader.get_field(key)
        if field is None:
            return default
        with _one_sentence(self.path):
            if field.types[0] == gguf.GGUFValueType.ARRAY and not field.data:
                return []
            if (
                field.types[0] == gguf.GGUFValueType.FLOAT32
            ):  # 1e-05 as it was meant, not 9.999999747378752e-06
                return float(str(field.parts[-1][0]))
            return field.contents()

    @property
    def architecture(self) -> str:
        return str(self.get("general.architecture", "(none given)"))

    @property
    def quantisation(self) -> str:
        """The types of the tensors, the one with most bytes first, e.g. "Q4_1, Q8_0, F32"."""
        total: dict[str, int] = {}
        for tensor in self._tensors.values():
            total[tensor.tensor_type.name] = total.get(tensor.tensor_type.name, 0) + tensor.n_bytes
        return ", ".join(sorted(total, key=lambda name: -total[name]))

    def tensor(self, name: str) -> np.ndarray:
        """One tensor as float32, in the shape of `shapes` and in memory of its own."""
        tensor = self._tensors[name]
        with _one_sentence(self.path):
            values = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(self.shapes[name])
        return np.require(
            values, dtype=np.float32, requirements=["C", "W"]
        )  # what is mapped cannot be written

    def _check_types(self) -> None:
        """Every type is tried on one block of zeros, before any memory is taken for the weights."""
        if not self._tensors:
            raise AtlasError(
                "{path} holds a vocabulary and no weights: open the file that holds the model itself.",
                path=str(self.path),
            )
        for kind in {tensor.tensor_type for tensor in self._tensors.values()}:
            block = np.zeros(gguf.GGML_QUANT_SIZES[kind][1], dtype=np.uint8)
            try:
                gguf.dequantize(block, kind)
            except NotImplementedError:
                raise _unknown_type(self.path, kind.name) from None


def _check_header(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(8)
    if head[:4] != MAGIC:
        raise AtlasError("{path} is not a GGUF file: its first bytes are not those of one.", path=str(path))
    version = int.from_bytes(head[4:8], "little")
    if version not in _VERSIONS and version & 0xFFFF:  # a big-endian file has its version in the other half
        raise AtlasError(
            "{path} is a GGUF file of version {version}, and only versions 2 and 3 can be read: convert it "
            "again with a current converter.",
            path=str(path), version=version,
        )  # fmt: skip


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except AtlasError:
        raise
    except _BROKEN as error:
        reason = str(error)
        if "GGMLQuantizationType" in reason:
            raise _unknown_type(path, "".join(re.findall(r"\d+", reason)[-1:])) from error
        raise AtlasError(
            "{path} is cut short or damaged ({reason}): fetch or copy it again.",
            path=str(path), reason=reason or type(error).__name__,
        ) from error  # fmt: skip


def _unknown_type(path: Path, kind: str) -> AtlasError:
    return AtlasError(
        "{path} holds weights of quantisation type {kind}, which cannot be read here: use a file of "
        "another type, such as Q8_0 or Q4_K.",
        path=str(path), kind=kind,
    )  # fmt: skip
