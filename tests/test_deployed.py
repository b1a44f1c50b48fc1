"""The app as others run it: by a user who may do nothing, with no place to write; below a path."""

import asyncio
import os
import shutil
import subprocess
import tomllib
import urllib.request

import pytest
import yaml

from planner.web.options import read
from tests import browser
from tests.sessions import Visitor

DEPLOY = browser.ROOT / ".deploy"
CLOUD = DEPLOY / "community-cloud.toml"
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


def test_below_a_base_path_with_its_options_as_secrets():
    secrets = f"--secrets.files={CLOUD}"
    with browser.app(below="/tools/planner", options=[secrets]) as address:
        assert answers(address, "/_stcore/health") == b"ok"
        page = answers(address, "/?v=1")
        assert b"Fits, with 48.8 GB to spare." in page
        assert b'content="https://your-app.streamlit.app/api/plan/card.png' in page
        assert b'"max_concurrency":61' in answers(address, "/api/plan")
        assert opened(address)


def test_the_recipes_name_options_that_there_are():
    assert read(tomllib.loads(CLOUD.read_text())).address == "https://your-app.streamlit.app/"
    parts = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    (container,) = parts[0]["spec"]["template"]["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"]}
    assert read(given).address.startswith("https://")
    (port,) = container["ports"]
    assert f"EXPOSE {port['containerPort']}\n" in (DEPLOY / "Dockerfile").read_text()
    assert [each["kind"] for each in parts] == [
        "Deployment", "Service", "Ingress", "PodDisruptionBudget",
    ]  # fmt: skip


def test_the_container_gets_all_that_runs():
    """What the image leaves out of the repository, the app does not miss."""
    ignored = (browser.ROOT / ".dockerignore").read_text().split()
    copied = [line for line in (DEPLOY / "Dockerfile").read_text().split("\n") if "COPY" in line]
    named = {name for line in copied for name in line.split()[1:-1]}
    assert {f"!{name}" for name in named} <= set(ignored)
    assert all((browser.ROOT / name).exists() for name in named)


@pytest.mark.skipif(not shutil.which("nginx"), reason="needs nginx")
def test_nginx_takes_its_file():
    assert works(["nginx", "-t", "-c", str(DEPLOY / "nginx.conf")])
