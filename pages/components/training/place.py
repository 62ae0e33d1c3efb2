"""Where runs work: on this machine, or as jobs of a cluster that has Slurm; and why a job waits."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.training.runs import Run
from engine.training.runs.launcher import LAUNCHERS
from engine.training.runs.slurm import jobs
from engine.training.runs.slurm import settings as slurm_settings
from engine.training.runs.slurm.settings import SlurmSettings
from engine.training.runs.status import Status
from pages.components import panels, schema_form
from pages.components.language import N_, _, language

PLACES = {"local": N_("this machine"), "slurm": N_("Slurm")}
FIELDS = ("partition", "minutes", "gpus", "cpus", "memory_gb", "account")
NO_SLURM = N_(
    "On this machine. Runs go to a cluster, too, where Slurm's command sbatch is found: start the app on a machine "
    "from which jobs are submitted."
)
REASONS = {  # what Slurm calls it -> what it means
    "None": N_("not looked at yet"),
    "Resources": N_("no node is free"),
    "Priority": N_("others come first"),
    "BeginTime": N_("begins again in a moment"),
    "JobArrayTaskLimit": N_("others of its array come first"),
    "PartitionTimeLimit": N_("asks for more time than its partition gives"),
    "PartitionDown": N_("its partition is down"),
    "ReqNodeNotAvail": N_("the node it needs is not available"),
}


@dataclass(frozen=True)
class Place:
    """launcher: by its name. settings: what jobs ask of a cluster, None on this machine."""

    launcher: str = "local"
    settings: SlurmSettings | None = None

    def prepare(self, run: Run) -> None:
        """Notes what was chosen in the run's folder, from which it is read whenever the run is started."""
        if self.settings:
            slurm_settings.write(run.folder, self.settings)


def choose() -> Place:
    """Draws the fields. Raises AtlasError for what no cluster could be asked."""
    if not jobs.found():
        panels.paragraph(_(NO_SLURM))
        return Place()
    if _launcher() == "local":
        return Place()
    form, schema = schema_form.form("slurm", SlurmSettings)
    values = form.draw(schema, FIELDS, {})
    panels.paragraph(
        _("What is left empty, the cluster decides. When its time is up, a run goes on in another job.")
    )
    return Place("slurm", SlurmSettings(**values))


def _launcher() -> str:
    chosen = st.session_state.setdefault("atlas.place", "local")
    key = f"atlas-place-{language()}"
    st.session_state[key] = chosen
    st.segmented_control(
        _("Where it runs"), list(PLACES), key=key, format_func=lambda one: _(PLACES[one]), required=True,
        label_visibility="collapsed", on_change=lambda: _keep(st.session_state[key]),
    )  # fmt: skip
    return chosen


def _keep(chosen: str) -> None:
    st.session_state["atlas.place"] = chosen


def again(status: Status) -> str:
    """Where a run goes on: where it was, if that is there."""
    return status.launcher if status.launcher != "slurm" or jobs.found() else "local"


def waiting_words(status: Status) -> str:
    """Which job of a cluster a run waits in, and why; nothing for one that does not."""
    if status.state != "waiting" or not status.job:
        return ""
    job, reason = _("Slurm job {job}").format(job=status.job), LAUNCHERS[status.launcher].why(status)
    return f"{job}: {_(REASONS.get(reason, reason))}" if reason else job
