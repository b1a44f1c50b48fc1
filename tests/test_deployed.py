"""The app as others run it: by a user who may do nothing, with no place to write; below a path."""

import asyncio
import os
import shutil
import subprocess
import urllib.request

import pytest

from tests import browser
from tests.sessions import Visitor

# In a file system of its own in which nothing can be written, as a user who owns nothing. What lies
# in somebody's home folder can be read, since an interpreter may.
READ = "dac_read_search"
LOCKED = [
    "unshare", "--mount", "sh", "-c",
    "mount --make-rprivate / && mount -o remount,bind,ro / && ! touch /tmp/planner && exec setpriv "
    f"--reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all,+{READ} "
    f'--inh-caps=-all,+{READ} --ambient-caps=-all,+{READ} env HOME=/nonexistent "$@"',
    "sh",
]  # fmt: skip


def works(command):
    return not subprocess.run(command, capture_output=True).returncode


def answers(address, path):
    with urllib.request.urlopen(f"{address}{path}", timeout=30) as found:
        return found.read()


def opened(address):
    """A session that has run the Plan page once."""

    async def one():
        visitor = Visitor(address, 0)
        await visitor.open()
        await visitor.close()
        return visitor.slider

    return asyncio.run(one())


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv") or not works([*LOCKED, "true"]),
    reason="needs root, setpriv and unshare to take everything away",
)
def test_an_unprivileged_user_on_a_read_only_file_system():
    assert works([*LOCKED, "sh", "-c", "test $(id -u) = 65534"])
    assert not works([*LOCKED, "touch", str(browser.ROOT / "written")])
    with browser.app(before=LOCKED) as address:
        assert answers(address, "/_stcore/health") == b"ok"
        assert b"Fits, with 48.8 GB to spare." in answers(address, "/?v=1")
        assert b'"max_concurrency":61' in answers(address, "/api/plan")
        assert answers(address, "/api/plan/memory.png").startswith(b"\x89PNG")
        assert opened(address)


def test_below_a_base_path():
    with browser.app(below="/tools/planner") as address:
        assert answers(address, "/_stcore/health") == b"ok"
        assert b"Fits, with 48.8 GB to spare." in answers(address, "/?v=1")
        assert b'"max_concurrency":61' in answers(address, "/api/plan")
        assert opened(address)
