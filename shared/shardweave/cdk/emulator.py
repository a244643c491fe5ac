"""The emulator of AWS on this machine: MiniStack, as a process on loopback.

It keeps everything in memory, so its deployments are gone when it stops. It runs functions as processes with its own
Python. While it runs it holds a lock on its folder, which distinguishes a running emulator from the files of one that
has ended.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConfigurationError
from ..errors.exit_codes import Unavailable
from .tools import emulator_environment

ACCOUNT = "000000000000"
REGION = "us-east-1"
CREDENTIALS = ("test", "test")
START_SECONDS = 60


@dataclass(frozen=True)
class Emulator:
    """An emulator whose log, lock and process id are in a folder. `enforce_iam`: roles may do only what their policies
    allow."""

    folder: Path
    port: int
    enforce_iam: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables for deploying to it."""
        key, secret = CREDENTIALS
        own = {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {**kept, **own, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}

    def start(self) -> None:
        """Start it, and wait until it answers. Raises ConfigurationError."""
        _check_free(self.port)
        self._scratch.mkdir(parents=True, exist_ok=True)
        with self._lock_file.open("w") as lock, self.log.open("wb") as log:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            process = subprocess.Popen(
                [_command()],
                cwd=self.folder,
                env=self._own_variables(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock.fileno(),),
            )
        self._process_file.write_text(f"{process.pid} {self.port}")
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Unavailable(
                    f"the emulator did not start:\n{self.log.read_text(errors='replace')[-2000:]}",
                    where="emulator",
                    fix="see above",
                )
            time.sleep(0.1)

    def answers(self) -> bool:
        """Whether it answers requests."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/_ministack/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        """Stop it, if it runs, and wait until it has ended. Files that its functions wrote are deleted."""
        self._end()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _end(self) -> None:
        while (process := running(self.folder)) is not None:
            os.kill(process.id, signal.SIGTERM)
            for _ in range(100):
                if running(self.folder) is None:
                    return
                time.sleep(0.1)
            os.kill(process.id, signal.SIGKILL)
            time.sleep(0.1)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def _scratch(self) -> Path:
        return self.folder / "scratch"

    @property
    def _lock_file(self) -> Path:
        return self.folder / "lock"

    @property
    def _process_file(self) -> Path:
        return self.folder / "process"

    def _own_variables(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "TMPDIR": str(self._scratch),
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_REGION": REGION,
            "AUTH": "true" if self.enforce_iam else "false",
            # They would listen on ports of their own.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
        }


@dataclass(frozen=True)
class Process:
    """A running emulator."""

    id: int
    port: int


def running(folder: Path) -> Process | None:
    """The emulator that runs in a folder, or None."""
    try:
        with (folder / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return None
    except FileNotFoundError:
        return None
    except BlockingIOError:
        number, port = (folder / "process").read_text().split()
        return Process(int(number), int(port))


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise Unavailable(f"{port} is in use", where="--port", fix="stop what uses it, or choose another") from None


def _command() -> Path:
    named = os.environ.get("MINISTACK_ENVIRONMENT")
    environment = emulator_environment() if named is None else Path(named)
    command = environment / "bin" / "ministack"
    if not command.exists():
        raise ConfigurationError(
            f"{command} does not exist", where="MINISTACK_ENVIRONMENT", fix="leave it out, so that one is made"
        )
    return command
