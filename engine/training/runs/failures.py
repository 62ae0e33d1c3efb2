"""What went wrong with a run, as one sentence for people: no room on the disk, no memory, or something unforeseen."""

from __future__ import annotations

import errno
import gc

import torch

from engine.config import AtlasError
from engine.training.loop import train
from engine.training.runs.folder import RunConfig, RunFolder

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")  # processors and Metal say so


def sentence(error: Exception, folder: RunFolder) -> AtlasError:
    """The error itself where it is a sentence already. Nothing of the failed run should be held any more."""
    if isinstance(error, AtlasError):
        return error
    if isinstance(error, OSError) and error.errno in FULL:
        return AtlasError(
            "The disk that holds {path} is full: make room there, then start the run again, and it goes on at its "
            "last checkpoint.",
            path=str(folder.path),
        )
    if is_out_of_memory(error):
        return out_of_memory(folder, folder.read_config())
    return AtlasError(
        "The run failed unexpectedly ({reason}): its log.txt tells where.",
        reason=" ".join(f"{type(error).__name__}: {error}".split())[:300],
    )


def is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)


def out_of_memory(folder: RunFolder, config: RunConfig) -> AtlasError:
    batch_size = config.training.batch_size
    if fits := batch_that_fits(folder, config):
        return AtlasError(
            "There is not enough memory for a batch of {batch_size}; one of {fits} fits: choose that batch size, or "
            "read the batch in {parts} parts.",
            batch_size=batch_size, fits=fits, parts=-(-batch_size // fits),
        )  # fmt: skip
    return AtlasError(
        "There is not enough memory to train this model, even by one example at a time: choose a smaller one."
    )


def batch_that_fits(folder: RunFolder, config: RunConfig) -> int:
    """The largest of a half, a quarter, ... of what was read at once that a step can be made with; 0 for none."""
    size = config.training.batch_size // config.training.accumulate // 2
    while size:
        release()
        changes = {"batch_size": size, "accumulate": 1, "evaluate_every": None, "patience": None}
        try:
            training = folder.training(config).model_copy(update=changes)
            next(train(config.model, folder.task(config), training))
        except AtlasError:
            return size  # it had the memory to find that out
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            size //= 2
        else:
            return size
    return 0


def release() -> None:
    """Gives back what nobody holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
