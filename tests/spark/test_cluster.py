"""A real cluster: a standalone master and a worker on loopback, the package sent to them.

A sweep on Spark that was terminated is resumed there, and the executor of the run is killed, which
another one replaces; the rows are those of processes without Spark, bit for bit.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from signal import SIGTERM

import pytest

from ddlsim.analysis.spark import java
from tests.support.command import ddlsim
from tests.support.killing import LINUX, assert_ended_by, struck
from tests.support.quick_spark import QUICK_JAVA
from tests.support.sweeps import children, command_of, kill, rows_bytes, sweep_file
from tests.support.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.slow, LINUX]
EXECUTOR = "CoarseGrainedExecutorBackend"


def free_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def environment(spark_home: Path) -> dict[str, str]:
    """What the daemons see: a Java, Spark, and no checkout of ours on their path."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "DDLSIM"))}
    return {
        **known,
        "JAVA_HOME": java.find().home,
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address of a master with a worker, and the worker's process."""
    import pyspark

    home = Path(pyspark.__file__).parent
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    common = [str(home / "bin" / "spark-class")]
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [["org.apache.spark.deploy.master.Master", *here, "--port", str(port)]]
    size = ["--cores", "2", "--memory", "2g", "--work-dir", str(folder / "work")]
    commands.append(["org.apache.spark.deploy.worker.Worker", *here, *size, address])
    logs = [(folder / f"{at}.log").open("w") for at in range(len(commands))]
    daemons = [
        subprocess.Popen(
            [*common, *command], stdout=log, stderr=log, env=environment(home), cwd=folder
        )
        for command, log in zip(commands, logs, strict=True)
    ]
    try:
        log = folder / "0.log"
        until(lambda: "Registering worker" in log.read_text(), "a worker of Spark")
        yield address, daemons[1].pid
    finally:
        below = [p for daemon in daemons for p in children(daemon.pid)]
        for daemon in daemons:
            daemon.kill()
            daemon.wait()
        for pid in below:
            if command_of(pid):
                kill(pid)
        for log in logs:
            log.close()


def test_a_terminated_sweep_on_spark_resumes_on_a_cluster_and_survives_an_executor(
    master: tuple[str, int], tmp_path: Path
) -> None:
    address, worker = master
    file = sweep_file(tmp_path, 16)
    out = tmp_path / "cluster"
    loopback = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1")
    conf = [*loopback, "spark.executor.memory=512m", "spark.cores.max=1"]
    conf.append(f"spark.executor.extraJavaOptions={QUICK_JAVA}")
    on_spark = ("--master", address, *(w for c in conf for w in ("--conf", c)))
    words = ("sweep", file, "--out", str(out))
    parts = lambda: set(out.glob("parts/part-*.parquet"))  # noqa: E731 - a word for one line
    with struck(*words, "--master", "local[2]") as driver:
        until(lambda: len(parts()) > 1, "two parts", driver.alive)
        ended = driver.end(SIGTERM)
    assert_ended_by(SIGTERM, ended)
    assert not (out / "rows.parquet").exists()
    before = {part: part.stat().st_mtime_ns for part in parts()}
    with struck(*words, *on_spark, "--resume") as driver:
        until(lambda: len(parts()) > len(before), "another part", driver.alive)
        (executor,) = (p for p in children(worker) if EXECUTOR in command_of(p))
        kill(executor)
        _, told = driver.process.communicate(timeout=PATIENCE_S)
    assert driver.process.returncode == 0, told
    assert "Exception" not in told
    assert {part: part.stat().st_mtime_ns for part in before} == before
    plain = ddlsim("sweep", file, "--out", str(tmp_path / "plain"), "--jobs", "1")
    assert plain.code == 0
    assert rows_bytes(out) == rows_bytes(tmp_path / "plain")
    assert not list(out.rglob("*.tmp"))
