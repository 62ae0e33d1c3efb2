"""The models under assets/models, made again.

python -m engine.training dates --out assets/models/dates       train, measure, write (some minutes)
python -m engine.training pocket --out assets/models/pocket     write the one whose weights are set by hand
python -m engine.training measure assets/models/dates           measure a trained one again, write nothing
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from engine.config import AtlasError
from engine.model.transformer import Transformer
from engine.tokenizers import Tokenizer
from engine.training.examples import Image
from engine.training.loop import Training, train
from engine.training.measure import evaluate, report
from engine.training.model_folder import load_checkpoint, save_checkpoint
from engine.training.objectives import objective_of
from engine.training.pocket import write_pocket
from engine.training.recipes import RECIPES, recipe_for, task_of
from engine.training.runs.checkpoints import save_weights
from engine.training.runs.folder import RunFolder
from engine.training.starts import pieces
from engine.training.tasks import Classification, Task, task_named
from engine.training.tasks.text import Text

SHOW_EVERY = 100  # steps
FOR_EACH = 200  # held-out images, among which each label is found


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    torch.set_num_threads(1)  # faster than two at this size, and the same numbers everywhere
    try:
        if options.what == "measure":
            measure(options.folder, options.count)
        elif options.what == "pocket":
            write_pocket(options.out)
        else:
            make(options.what, options.out, options.count)
    except AtlasError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser("python -m engine.training", description="Make or measure a small model.")
    commands = top.add_subparsers(dest="what", required=True)
    for name in (*RECIPES, "pocket"):
        commands.add_parser(name).add_argument("--out", required=True, metavar="FOLDER")
    commands.add_parser("measure").add_argument("folder", metavar="FOLDER")
    for name in (*RECIPES, "measure"):
        count = RECIPES[name].count if name in RECIPES else 20_000
        commands.choices[name].add_argument(
            "--count", type=int, default=count, help="examples of each suite to measure on"
        )
    return top


def make(name: str, out: str, count: int) -> None:
    """Train by a recipe, keeping the weights on the way; measure, and write the folder."""
    task, recipe, folder = task_of(name), recipe_for(name), RunFolder(Path(out))
    shutil.rmtree(folder.path / "snapshots", ignore_errors=True)
    folder.path.mkdir(parents=True, exist_ok=True)
    run = train(recipe.config(task), task, recipe.settings)
    told = [kept(run, folder)] if 0 in recipe.snapshots else []
    for record in run:
        if record.step % SHOW_EVERY == 0:
            print(
                f"step {record.step:5d}  loss {record.loss:.4f}  tokens right {record.accuracy:.2%}",
                flush=True,
            )
        if record.step in recipe.snapshots:
            told.append(kept(run, folder))
    card = {**card_of(run, report(run.model, task, count)), "on_the_way": [*told, figures(run.model, run)]}
    save_checkpoint(out, run.config, run.model, task.tokenizer, card)
    if images := one_of_each(task):
        (folder.path / "images.json").write_text(json.dumps(images) + "\n", encoding="utf-8")
    print(json.dumps(card["metrics"], ensure_ascii=False, indent=2))


def one_of_each(task: Task) -> dict[str, Image]:
    """A held-out image of each label, by its name, for a screen to show; none where texts are read."""
    examples = sorted(task.suites(FOR_EACH)["held_out"], key=lambda one: one.target)
    return {one.target: one.source for one in examples if not isinstance(one.source, str)}


def kept(run: Training, folder: RunFolder) -> dict[str, Any]:
    """The weights as they are now, written in half precision, to be small; and what is so written is worth."""
    halves = {name: weight.half() for name, weight in run.weights().items()}
    save_weights(folder.snapshot(run.step), halves)
    rounded = deepcopy(run.model)
    rounded.load_state_dict(halves)
    return figures(rounded, run)


def figures(model: Transformer, run: Training) -> dict[str, Any]:
    """share, mass: those of the best head, where the task knows where answers stand; see `Alignment`."""
    found = evaluate(model, run.task, run.held_out)
    return {
        "step": run.step,
        "loss": found.loss,
        "accuracy": found.accuracy,
        "aligned_accuracy": found.aligned_accuracy,
        "exact": found.exact,
        "share": found.alignment and found.alignment.share,
        "mass": found.alignment and found.alignment.mass,
        "count": len(run.held_out),
    }


def card_of(run: Training, metrics: dict[str, Any]) -> dict[str, Any]:
    name, recipe = run.task.name, recipe_for(run.task.name)
    return {
        "name": name,
        "title": recipe.title or run.task.title,
        "summary": recipe.summary,
        "task": name,
        "options": {**recipe.options},
        **({"labels": run.task.labels} if isinstance(run.task, Classification) else {}),
        "licence": "MIT",
        **({"data": recipe.data} if recipe.data else {}),
        "python": platform.python_version(),
        "command": f"python -m engine.training {name} --out assets/models/{name}",
        "seed": run.settings.seed,
        "steps": run.step,
        "settings": run.settings.model_dump(),
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "bytes": len(save(run.model.state_dict())),
        "metrics": metrics,
    }


def read_as(task: Task, tokenizer: Tokenizer, folder: str) -> None:
    """Have the task cut its texts as the model does: Python's help has other letters in other versions of Python.

    Raises AtlasError for a task whose tokens are the same everywhere.
    """
    if not isinstance(task, Text):
        raise AtlasError(
            "the vocabulary in {folder} is another than the task {task} has here",
            folder=folder,
            task=task.name,
        )
    here, known = set(pieces(task.tokenizer)), set(pieces(tokenizer))
    more, fewer = (" ".join(sorted(letters)) or "none" for letters in (here - known, known - here))
    print(f"measured on the help of Python {platform.python_version()}, by the letters that the model knows")
    print(f"unknown to it: {more}; not in there: {fewer}")
    vars(task)["tokenizer"] = tokenizer


def measure(folder: str, count: int) -> None:
    config, model, tokenizer, card = load_checkpoint(folder)
    if "task" not in card:
        raise AtlasError("the model in {folder} was not trained for a task", folder=folder)
    task = task_named(card["task"], **card.get("options", {}))
    if tokenizer.to_json() != task.tokenizer.to_json():
        read_as(task, tokenizer, folder)
    objective_of(task).check(config, task)
    print(json.dumps(report(model, task, count), ensure_ascii=False, indent=2))


if __name__ == "__main__":
    sys.exit(main())
