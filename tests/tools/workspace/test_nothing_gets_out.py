"""Programs that try to get out of the workspace, or to take more than they may."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deskwork.tools.errors import ToolError
from deskwork.tools.workspace import seccomp
from deskwork.tools.workspace.box import Mounts
from deskwork.tools.workspace.identity import Identity
from deskwork.tools.workspace.options import WorkspaceOptions
from deskwork.tools.workspace.running import run_boxed
from tests.tools.workspace.boxes import Box, needs_bwrap

pytestmark = needs_bwrap
LIMITS = WorkspaceOptions(
    seconds=20,
    memory_bytes=600_000_000,
    processes=60,
    file_bytes=20_000_000,
    total_bytes=40_000_000,
    files=200,
    output_bytes=200_000,
)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path, LIMITS)


@contextlib.contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A server on loopback that notes whoever connects."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def accept() -> None:
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                came.append(connection.recv(10))

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_there_is_no_network(box: Box) -> None:
    with listening() as (port, came):
        code = (
            "import socket\n"
            f"for host, port in (('127.0.0.1', {port}), ('1.1.1.1', 53), ('192.168.0.1', 80)):\n"
            "    try:\n"
            "        socket.create_connection((host, port), 2).send(b'out'); print('REACHED')\n"
            "    except OSError as error: print(error)\n"
            "try: socket.getaddrinfo('example.org', 80); print('REACHED')\n"
            "except OSError as error: print(error)\n"
            "print(open('/proc/net/dev').read())\n"
        )
        text = box.python(code).text
    assert "REACHED" not in text
    assert "Network is unreachable" in text
    assert came == []
    assert "eth" not in text


def test_unix_sockets_of_this_machine_are_not_there(box: Box, tmp_path: Path) -> None:
    named = f"\0deskwork-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as plain:
        abstract.bind(named)
        abstract.listen()
        plain.bind(str(tmp_path / "s"))
        plain.listen()
        code = (
            "import socket\n"
            f"for name in ({named!r}, {str(tmp_path / 's')!r}):\n"
            "    try: socket.socket(socket.AF_UNIX).connect(name); print('REACHED')\n"
            "    except OSError as error: print(error)\n"
        )
        assert "REACHED" not in box.python(code).text


def test_nothing_else_can_be_written(box: Box, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    places = ["/usr/x", "/etc/x", "/x", "/lib/x", "/bin/x", "/dev/x", "/call/x", "/proc/x"]
    places += [f"{sys.prefix}/x", f"{outside}/x", str(Path.home() / "x"), "/documents/x"]
    places += ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/var/tmp/x"]
    code = (
        f"for path in {places!r}:\n"
        "    try: open(path, 'w').write('x'); print('WRITTEN', path)\n"
        "    except OSError: pass\n"
    )
    assert "WRITTEN" not in box.python(code).text
    assert not list(outside.iterdir())
    assert not Path(sys.prefix, "x").exists()


def test_nothing_else_can_be_read(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKWORK_MODEL_KEY", "secret-of-the-job")
    (tmp_path / "home" / "blobs").mkdir(parents=True)
    (tmp_path / "home" / "blobs" / "other").write_text("another job's")
    text = box.sh(
        f"ls -a {tmp_path} /root /home /var /etc /mnt /srv /opt /run /sys 2>&1\n"
        f"cat {tmp_path}/home/blobs/other {Path.home()}/.profile /etc/shadow /etc/passwd 2>&1\n"
        "cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'; env\n"
        "ls -a ~; ls /proc/1/root /proc/1/cwd /workspace/.. /documents/..\n"
        "ls /dev; cat /proc/[0-9]*/environ | tr '\\0' '\\n'\n"
    ).text
    assert "secret-of-the-job" not in text
    assert "DESKWORK" not in text
    assert "another job's" not in text
    assert "root:x:" not in text
    assert "root:*:" not in text
    assert ".ssh" not in text
    assert "sda" not in text
    assert "vda" not in text
    assert "sessions" not in text


def test_open_files_of_this_process_are_not_inherited(box: Box, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        text = box.sh("ls -l /proc/self/fd /proc/1/fd").text
    assert "secret" not in text


def test_other_processes_are_neither_seen_nor_killed(box: Box) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        text = box.python(
            "import os, signal\n"
            "print('SEEN', [p for p in os.listdir('/proc') if p.isdigit()])\n"
            f"for pid in (*range(2, 400), {other.pid}, {os.getpid()}):\n"
            "    if pid == os.getpid(): continue\n"
            "    try: os.kill(pid, signal.SIGKILL)\n"
            "    except OSError: pass\n"
            "print('done')\n"
        ).text
        assert other.poll() is None
        other.communicate(b"\n", timeout=20)
        assert other.returncode == 0
    assert "done" in text
    assert str(other.pid) not in text.split("SEEN")[1].split("]")[0]


def test_killing_everything_inside_ends_the_call_alone(box: Box) -> None:
    box.sh("kill -9 -1; kill -9 1; kill -9 $$")
    assert box.sh("echo alive").text == "Exit code 0.\nalive"


def test_no_rights_can_be_had(box: Box) -> None:
    text = box.sh(
        "grep -i ^cap /proc/self/status; unshare -Ur true && echo UNSHARED; "
        "mount -t tmpfs x /workspace && echo MOUNTED; chroot / true && echo CHROOTED; "
        "mknod disk b 8 0 && echo MADE; su -c true && echo SU; "
        "id -u; cat /proc/self/uid_map"
    ).text
    for word in ("UNSHARED", "MOUNTED", "CHROOTED", "MADE", "SU"):
        assert word not in text.splitlines()
    assert "CapEff:\t0000000000000000" in text
    assert "CapBnd:\t0000000000000000" in text


def test_an_endless_loop_is_stopped(tmp_path: Path) -> None:
    box = Box(tmp_path, replace(LIMITS, seconds=1.5))
    began = time.monotonic()
    result = box.python("open('x','w').write('x')\nprint('begun', flush=True)\nwhile True: pass")
    assert time.monotonic() - began < 8
    assert result.is_error
    assert result.text == (
        "It was stopped: it ran longer than 1.5 seconds. "
        "The workspace's files are as before the call.\nbegun"
    )
    assert box.workspace.files == {}


def test_what_runs_in_the_background_ends_with_the_call(box: Box) -> None:
    began = time.monotonic()
    box.sh("nohup setsid sleep 1234.5 >/dev/null 2>&1 & sleep 1234.5 & echo done")
    assert time.monotonic() - began < 8
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 1234.5" not in found.stdout


# The bombs are bounded: where the limit doesn't hold, a test fails and the machine doesn't.


def test_the_number_of_processes_is_bounded(box: Box) -> None:
    code = (
        "import os, time\n"
        "made = 0\n"
        "for n in range(400):\n"
        "    try: pid = os.fork()\n"
        "    except OSError as error: print(error); break\n"
        "    if not pid: time.sleep(60)\n"
        "    made += 1\n"
        "print('made', made)\n"
    )
    text = box.python(code).text
    assert "Resource temporarily unavailable" in text
    assert 30 < int(text.split("made ")[1]) <= 60


def test_the_number_of_threads_is_bounded(box: Box) -> None:
    code = (
        "import threading, time\n"
        "threading.stack_size(65536)\n"
        "for n in range(400):\n"
        "    try: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "    except RuntimeError as error: print(error, n); break\n"
    )
    text = box.python(code).text
    assert 30 < int(text.split("new thread ")[1]) <= 60


def test_a_fork_bomb_ends_with_its_time(tmp_path: Path) -> None:
    box = Box(tmp_path, replace(LIMITS, seconds=2))
    began = time.monotonic()
    code = (
        "import os, time\n"
        "for n in range(9):\n"
        "    try: os.fork()\n"
        "    except OSError: pass\n"
        "time.sleep(60)\n"
    )
    assert "longer than 2 seconds" in box.python(code).text
    assert time.monotonic() - began < 10
    assert box.sh("echo alive").text == "Exit code 0.\nalive"


def test_a_memory_bomb_harms_only_itself(box: Box) -> None:
    result = box.python("x = bytearray(5_000_000_000)")
    assert "MemoryError" in result.text
    many = box.python(
        "import os, time\n"
        "for n in range(8):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(os.urandom(1) * 200_000_000); time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    assert "600,000,000 bytes of memory" in many.text


def test_tmp_and_shared_memory_are_bounded(box: Box) -> None:
    text = box.sh("for d in /tmp /dev/shm; do for n in $(seq 40); do"
                  " head -c 15000000 /dev/zero > $d/$n || { echo FULL $d; break; }; done; done").text  # fmt: skip # noqa: E501
    assert "FULL /tmp" in text
    assert "FULL /dev/shm" in text


def test_huge_output_is_stopped(box: Box) -> None:
    result = box.sh("yes")
    assert "printed more than 200,000 bytes" in result.text
    assert len(result.text) < 40_000
    assert "printed more than" in box.sh("cat /dev/urandom >&2").text


def test_huge_files_are_refused(box: Box) -> None:
    assert "Exit code 0" not in box.sh("head -c 30000000 /dev/zero > big").text
    assert "big" not in box.workspace.files or len(
        box.workspace.kept[box.workspace.files["big"]]
    ) <= 20_000_000  # fmt: skip
    sparse = box.sh("rm -f big; truncate -s 100G sparse")
    assert "Exit code 0" not in sparse.text
    many = box.sh("for n in 1 2 3; do head -c 19000000 /dev/zero > $n; done")
    assert "more than 40,000,000 bytes in files" in many.text
    names = box.sh("for n in $(seq 300); do : > f$n; done")
    assert "more than 200 files" in names.text
    assert "300" not in "".join(box.workspace.files)


def test_links_are_not_followed_or_kept(box: Box, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret of the host")
    result = box.sh(
        f"ln -s {secret} a; ln -s /etc/shadow b; ln -s / root; ln -s .. up; ln -s /proc/self/mem m;"
        " mkfifo pipe; ln /etc/ld.so.cache hard; mkdir d; ln -s ../../.. d/e; echo plain > plain"
    )
    assert list(box.workspace.files) == ["plain"]
    assert "not kept a: only plain files are" in result.text
    assert "not kept d/e" in result.text
    assert "not kept pipe" in result.text
    assert b"secret of the host" not in b"".join(box.workspace.kept.values())


def test_odd_names_and_locked_folders_do_no_harm(box: Box) -> None:
    result = box.python(
        "import os\n"
        "open(b'\\xff\\xfe', 'w').write('x'); open('a\\nb', 'w').write('x')\n"
        "open('-rf', 'w').write('dash'); open('ok', 'w').write('x')\n"
        "os.mkdir('locked'); open('locked/in', 'w').write('x'); os.chmod('locked', 0)\n"
    )
    assert sorted(box.workspace.files) == ["-rf", "locked/in", "ok"]
    assert "not kept" in result.text
    assert box.sh("cat ./-rf; cat locked/in").text == "Exit code 0.\ndashx"


def test_a_thousand_folders_deep(box: Box) -> None:
    code = "import os\nfor n in range(150): os.mkdir('d' * 60); os.chdir('d' * 60)\n"
    with pytest.raises(ToolError, match="deep within each other"):
        box.python(code)
    assert box.workspace.files == {}
    assert not list(box.workspace.scratch.iterdir())


def test_it_holds_in_a_user_namespace_as_well(tmp_path: Path) -> None:
    """As it runs where Deskwork isn't root; root itself may do it, too."""
    mounts = Mounts(tmp_path / "workspace", tmp_path / "call", {})
    mounts.workspace.mkdir()
    mounts.call.mkdir()
    command = (
        "id -u; unshare -Ur true; echo x > /proc/sys/kernel/core_pattern; echo y > y; ls /root"
    )
    ran = run_boxed(["/bin/sh", "-c", command], mounts, LIMITS, Identity(None))
    text = ran.output.decode()
    assert text.startswith("1000\n")
    assert "Operation not permitted" in text
    assert "cannot create /proc/sys/kernel/core_pattern" in text
    assert (mounts.workspace / "y").read_text() == "y\n"


def test_the_filter_is_well_formed() -> None:
    assert seccomp.program("riscv64") == b""
    for machine in ("x86_64", "aarch64"):
        code = seccomp.program(machine)
        steps = [struct.unpack("=HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]
        for at, (_, yes, no, _) in enumerate(steps):
            assert at + 1 + max(yes, no) < len(steps) or steps[at][0] == 0x06
        assert [step[0] for step in steps[-4:]] == [0x06] * 4
