"""A real Slurm of one node on the loopback address, in a folder of its own, ended with the block.

It runs as whoever asks for it, with neither cgroups nor accounting, and beside any other Slurm of the machine: all that
its daemons and commands read is named by SLURM_CONF, which `running` sets for the block.

python -m tests.slurm.cluster bash      a shell beside a cluster, for a look by hand
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
MISSING = "Slurm is not here: apt-get install slurm-wlm munge"
SYSTEM = ("/usr/sbin", "/sbin")  # where daemons are, though a user's PATH may not name it
WAIT_SECONDS = 60

SETTINGS = """\
ClusterName=atlas
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# a job that is begun again waits until its credential has run out: five seconds at least, by default two minutes
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
MailProg=/bin/true
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=2
SlurmdParameters=config_overrides
BatchStartTimeout=2
MessageTimeout=2
ReturnToService=2
KillWait=5
SchedulerParameters=batch_sched_delay=1,sched_interval=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES DefaultTime=5 MaxTime=60
"""


def found() -> bool:
    return all(_program(name) for name in PROGRAMS)


def required() -> bool:
    return os.environ.get("ATLAS_REQUIRE_SLURM") == "1"


@dataclass
class Cluster:
    """Its folder, and the daemons that run, by name."""

    folder: Path
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                [_program(name) or name, *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        daemon = self.daemons.pop(name)
        daemon.send_signal(how)
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def start_node(self) -> None:
        self.start("slurmd", "-D")
        self.wait(lambda: node_state() in ("idle", "mixed", "allocated"), "the node")

    def kill_node(self) -> None:
        """What a power cut does: the daemon and all that its jobs had running are gone without a word."""
        self.end("slurmd", signal.SIGKILL)
        lost = self.strays()
        for how in (signal.SIGSTOP, signal.SIGKILL):  # at one moment: none shall tell of another's end
            for pid in lost:
                _signal(pid, how)

    def strays(self) -> list[int]:
        """Processes of jobs, and those of Slurm that watch over them; none that this process or a daemon at hand began.

        A job's know SLURM_CONF; the watching ones may have written their title over what they know.
        """
        own = {os.getpid(), *(daemon.pid for daemon in self.daemons.values())}
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        jobs = [pid for pid in _pids() if mark in _environment(pid) and not {pid, _parent(pid)} & own]
        steps = {_parent(pid) for pid in jobs}
        return [*jobs, *(pid for pid in steps.difference(jobs) if _title(pid).startswith("slurmstepd"))]

    def wait(self, until: Callable[[], bool], what: str) -> None:
        """Raises RuntimeError with the daemons' own words when it does not come."""
        end = time.monotonic() + WAIT_SECONDS
        while not until():
            if time.monotonic() > end:
                raise RuntimeError(f"Slurm: waited {WAIT_SECONDS} s for {what}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self) -> str:
        logs = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(f"== {log.name}\n{log.read_text('utf-8', 'replace')[-2000:]}" for log in logs)


@contextmanager
def running() -> Iterator[Cluster]:
    """A cluster whose node is idle."""
    folder = Path(tempfile.mkdtemp(prefix="atlas-slurm-"))
    cluster = Cluster(folder)
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
    try:
        _write_settings(folder)
        _start(cluster)
        yield cluster
    finally:
        _end(cluster)
        os.environ.pop("SLURM_CONF")
        if before is not None:
            os.environ["SLURM_CONF"] = before
        shutil.rmtree(folder)


def node_state() -> str:
    return said("sinfo", "--noheader", "--format=%T")


def said(*command: str) -> str:
    """What a command of Slurm prints; nothing where it fails."""
    return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()


def _write_settings(folder: Path) -> None:
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir(mode=0o755)
    (folder / "munge" / "key").write_bytes(os.urandom(32))
    (folder / "munge" / "key").chmod(0o400)
    controller_port, node_port = _free_ports(2)
    settings = SETTINGS.format(
        folder=folder,
        host=socket.gethostname().partition(".")[0],
        user=getpass.getuser(),
        controller_port=controller_port,
        node_port=node_port,
    )
    (folder / "slurm.conf").write_text(settings)
    (folder / "cgroup.conf").write_text(
        "CgroupPlugin=cgroup/v1\n"
    )  # loaded though unused; v2 would ask systemd


def _start(cluster: Cluster) -> None:
    munge = cluster.folder / "munge"
    cluster.start(
        "munged", "--foreground", "--force", f"--key-file={munge}/key", f"--socket={munge}/socket",
        f"--pid-file={munge}/pid", f"--seed-file={munge}/seed", f"--log-file={munge}/log",
    )  # fmt: skip
    cluster.wait((munge / "socket").exists, "munged's socket")
    cluster.start("slurmctld", "-D")
    cluster.start_node()


def _end(cluster: Cluster) -> None:
    """Jobs first, so that their steps end; then the daemons, the one that the others need last."""
    if "slurmctld" in cluster.daemons:
        said("scancel", f"--user={getpass.getuser()}")
    for name in [*cluster.daemons][::-1]:
        cluster.end(name)
    for pid in cluster.strays():
        _signal(pid, signal.SIGKILL)


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *SYSTEM]))


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _signal(pid: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, how)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile, or another user's
        return []


if __name__ == "__main__":
    with running():
        sys.exit(subprocess.run(sys.argv[1:]).returncode)
