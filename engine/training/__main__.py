"""The models under assets/models, made again.

python -m engine.training dates --out assets/models/dates       train, measure, write (some minutes)
python -m engine.training pocket --out assets/models/pocket     write the one whose weights are set by hand
python -m engine.training measure assets/models/dates           measure a trained one again, write nothing
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import torch
from safetensors.torch import save

from engine.config import AtlasError
from engine.training.loop import Training, train
from engine.training.measure import report
from engine.training.model_folder import load_checkpoint, save_checkpoint
from engine.training.objectives import objective_of
from engine.training.pocket import write_pocket
from engine.training.recipes import RECIPES, recipe_for
from engine.training.tasks import task_named

SHOW_EVERY = 100  # steps


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
        commands.choices[name].add_argument(
            "--count", type=int, default=20_000, help="examples of each suite to measure on"
        )
    return top


def make(name: str, out: str, count: int) -> None:
    """Train by the recipe of a task, measure, and write the folder."""
    task, recipe = task_named(name), recipe_for(name)
    run = train(recipe.config(task), task, recipe.settings)
    for record in run:
        if record.step % SHOW_EVERY == 0:
            print(
                f"step {record.step:5d}  loss {record.loss:.4f}  tokens right {record.accuracy:.2%}",
                flush=True,
            )
    card = card_of(run, report(run.model, task, count))
    save_checkpoint(out, run.config, run.model, task.tokenizer, card)
    print(json.dumps(card["metrics"], ensure_ascii=False, indent=2))


def card_of(run: Training, metrics: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": run.task.name,
        "title": run.task.title,
        "task": run.task.name,
        "licence": "MIT",
        "command": f"python -m engine.training {run.task.name} --out assets/models/{run.task.name}",
        "seed": run.settings.seed,
        "steps": run.step,
        "settings": run.settings.model_dump(),
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "bytes": len(save(run.model.state_dict())),
        "metrics": metrics,
    }


def measure(folder: str, count: int) -> None:
    config, model, _, card = load_checkpoint(folder)
    if "task" not in card:
        raise AtlasError("the model in {folder} was not trained for a task", folder=folder)
    task = task_named(card["task"])
    objective_of(task).check(config, task)
    print(json.dumps(report(model, task, count), ensure_ascii=False, indent=2))


if __name__ == "__main__":
    sys.exit(main())
