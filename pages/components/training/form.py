"""A new run: which task, a model of which size, trained how; and what it will take, before it is begun."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from engine.config import AtlasError, StackConfig, TransformerConfig
from engine.training import presets, runs
from engine.training.runs import sweep
from engine.training.runs.folder import MOST_OF_TITLE, RunConfig
from engine.training.settings import TrainingSettings
from engine.training.tasks import TASKS, Task
from pages.components import panels, resources, schema_form, state
from pages.components.language import N_, _, language, sentence
from pages.components.models import fetching
from pages.components.training import forecasts, grid
from pages.components.training import place as run_place
from pages.components.training.place import Place

GROUPS = {
    N_("Letters and digits"): ("copy", "reverse", "sort", "recall", "induction", "addition"),
    N_("Language"): ("dates", "numbers", "phrases", "sentiment", "text", "masked_text"),
    N_("Images"): ("digits",),
    N_("Files of your own"): ("own_pairs", "own_labels"),
}
FIRST = "reverse"
OWN = "own"
STEPS = ("steps", "learning_rate", "batch_size", "schedule")
STACK = ("n_layers", "n_heads", "positions", "placement")
MORE_OF_STACK = (
    "d_ff",
    "n_kv_heads",
    "feed_forward",
    "dropout",
    "window",
    "core",
    "attention_bias",
    "qk_norm",
)
NO_FILE = N_("This task learns from a file of yours: type its path.")


@dataclass(frozen=True)
class Plan:
    """A run that could be made. data: the visitor's own file, where the task reads one."""

    config: RunConfig
    data: Path | None


def show() -> None:
    """The form, and the button that begins what it says."""
    panels.heading(_("A new run"))
    name = _task()
    with st.container(key="atlas-plan"):
        size = _size(name)
        settings = st.container(key="atlas-plan-settings")
        try:
            with settings:
                with st.expander(_("Settings"), key="atlas-settings"):
                    plan = _plan(name, size)
                with st.expander(_("Where it runs"), key="atlas-where"):
                    place = run_place.choose()
                with st.expander(_("Several runs: a grid of settings"), key="atlas-sweep"):
                    axes = grid.choose(plan.config)
                    count = len(sweep.grid(plan.config, axes))
        except AtlasError as error:
            panels.problem(sentence(error))
            st.button(_("Start"), key="atlas-start", type="primary", disabled=True)
            return
        _example(resources.task(plan.config.task))
        words = _("Start {count} runs").format(count=count) if count > 1 else _("Start")
        st.button(
            f"{words} · Slurm" if place.settings else words, key="atlas-start", type="primary",
            on_click=partial(_start, plan, axes, place),
        )  # fmt: skip
        fetching.problem("training")
        forecasts.show(plan.config)


def _start(plan: Plan, axes: dict[str, list[Any]], place: Place) -> None:
    with fetching.problem_kept("training"):
        made = sweep.create(plan.config, axes, plan.data)
        for run in made:
            place.prepare(run)
        state.update(run=made[0].name, probe=None, site=None, step=None)
        runs.start_all([run.name for run in made], place.launcher)


def _task() -> str:
    names = [name for names in GROUPS.values() for name in names if name in TASKS]
    groups = {name: group for group, names in GROUPS.items() for name in names}
    chosen = st.session_state.setdefault("atlas.task", FIRST)
    key = f"atlas-task-{language()}"
    st.session_state[key] = chosen
    st.selectbox(
        _("Task"), names, key=key, label_visibility="collapsed", filter_mode="contains",
        format_func=lambda name: f"{_(groups[name])} · {_(TASKS[name].title)}",
        on_change=lambda: _choose("atlas.task", key, names),
    )  # fmt: skip
    panels.paragraph(_(TASKS[chosen].summary))
    return chosen


def _choose(kept: str, key: str, options: list[str]) -> None:
    if st.session_state[key] in options:
        st.session_state[kept] = st.session_state[key]


def _size(task: str) -> str:
    """One of the sizes that are known to work, or the visitor's own."""
    words = {**presets.SIZES, OWN: N_("own")}
    chosen = st.session_state.setdefault("atlas.size", "medium")
    key = f"atlas-size-{language()}"
    st.session_state[key] = chosen
    st.segmented_control(
        _("Size"), list(words), key=key, format_func=lambda one: _(words[one]), required=True,
        label_visibility="collapsed", on_change=lambda: _choose("atlas.size", key, list(words)),
    )  # fmt: skip
    return chosen


def _plan(name: str, size: str) -> Plan:
    """Draws the fields. Raises AtlasError where they do not go together."""
    known: presets.SizeName = "medium" if size == OWN else size  # type: ignore[assignment]
    task, options, data = _options(name)
    model = _model(task, known) if size == OWN else presets.model_for(task, known)
    training = _training(task, known, f"{name}-{known}")
    title = _("{task}, {size}").format(
        task=_(TASKS[name].title), size=_({**presets.SIZES, OWN: N_("own")}[size])
    )
    typed = st.text_input(
        _("Title"), key="atlas-title", placeholder=title, autocomplete="off", max_chars=MOST_OF_TITLE
    )
    config = RunConfig(
        title=state.printable(typed or "").strip() or title, task=options, model=model, training=training,
        probe=presets.probe_for(task),
    )  # fmt: skip
    return Plan(config, data)


def _options(name: str) -> tuple[Task, dict[str, Any], Path | None]:
    """The task with its options as chosen."""
    form, schema = schema_form.form(f"task-{name}", TASKS[name])
    values = form.draw(schema, schema_form.drawable(form, schema), {})
    path = Path(os.path.expanduser(values["path"])) if values.get("path") else None
    if path is None and "path" in schema.get("required", ()):
        raise AtlasError(NO_FILE)
    options = {"name": name, **values, **({"path": str(path)} if path else {})}
    return resources.task(options), options, path


def _model(task: Task, size: presets.SizeName) -> TransformerConfig:
    """A model of the visitor's own: what holds for all of it, and each of its stacks."""
    usual = presets.model_for(task, size)
    form, schema = schema_form.form(f"model-{task.name}", TransformerConfig)
    whole = form.draw(schema, ["d_model", "initialisation"], {"d_model": usual.d_model})
    stacks = {}
    for name, stack in usual.stacks.items():
        panels.paragraph({"encoder": _("Encoder"), "decoder": _("Decoder")}[name])
        form, schema = schema_form.form(f"{name}-{task.name}", StackConfig)
        known = stack.model_dump(mode="json") | {"d_ff": None, "n_kv_heads": None}
        values = form.draw(schema, STACK, known)
        if st.checkbox(_("More"), key=f"atlas-more-{name}"):
            values |= form.draw(schema, MORE_OF_STACK, known)
        else:
            values |= {"feed_forward": known["feed_forward"]}
        stacks[name] = StackConfig(**values)
    return presets.fitted(task, **whole, **stacks)


def _training(task: Task, size: presets.SizeName, name: str) -> TrainingSettings:
    usual = presets.settings_for(task, size).model_dump(mode="json")
    form, schema = schema_form.form(f"training-{name}", TrainingSettings)
    values = form.draw(schema, STEPS, usual)
    if st.checkbox(_("More"), key="atlas-more-training"):
        rest = [one for one in schema_form.drawable(form, schema) if one not in STEPS]
        values |= form.draw(schema, rest, usual)
    return TrainingSettings(**{**usual, **form.changed, **values})


def _example(task: Task) -> None:
    """What the task asks for, by an example that is never trained on."""
    example = task.suites(1)["held_out"][0]
    if isinstance(example.source, str) and example.target != example.source:
        source, target = state.shorten(example.source, 60), state.shorten(example.target, 60)
        panels.pair(source, target) if source else panels.sample(target)
