"""Fetching by id, against a small server on this machine; no test reaches a real network."""

import http.server
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from planner.models import hub
from planner.models.hub import Fetched, HubError, fetch_config, parse_id

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = '{"model_type": "llama", "x": Infinity}'


class Hub(http.server.ThreadingHTTPServer):
    """Serves `files`: path → (status, headers, body), and keeps what it was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.pause, self.drip = {}, [], threading.Event(), False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def put(self, repository, file, body, revision="main", status=200, **headers):
        body = body if isinstance(body, bytes) else body.encode()
        path = f"/{repository}/resolve/{revision}/{file}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.files[path] = (status, {"X-Repo-Commit": COMMIT, "ETag": '"1"'} | named, body)

    def refuse(self, repository, status, code=None, file="config.json"):
        headers = {"X_Error_Code": code} if code else {}
        self.put(repository, file, '{"error": "no"}', status=status, **headers)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization")))
        missing = (404, {"X-Error-Code": "EntryNotFound"}, b"")
        status, headers, body = self.server.files.get(self.path, missing)
        if headers.get("Wait"):
            self.server.pause.wait(10)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Location" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        step = 1 if headers.get("Drip") else len(body) or 1
        try:
            for start in range(0, len(body), step):
                self.wfile.write(body[start : start + step])
                self.wfile.flush()
                if headers.get("Drip") and self.server.pause.wait(0.05):
                    return
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has had enough, which is what some tests are about

    do_HEAD = do_GET  # noqa: N815 (the name http.server calls)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with Hub() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.pause.set()
        made.shutdown()


def fetch(server, model_id="org/name", **more):
    return fetch_config(model_id, endpoint=server.url, **more)


def index(size):
    return json.dumps({"metadata": {"total_size": size}, "weight_map": {"a": "b"}})


# --- what is fetched ----------------------------------------------------------------------------


def test_a_split_checkpoint_gives_its_config_and_exact_bytes(server):
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "model.safetensors.index.json", index(16_060_522_496))
    assert fetch(server) == Fetched(
        config_text=CONFIG,
        weight_bytes=16_060_522_496,
        source=f"{server.url}/org/name/blob/{COMMIT}/config.json",
        weights_from="model.safetensors.index.json",
    )
    assert len(server.asked) == 3  # with a look for hf_quant_config.json


def test_the_quantisation_beside_a_config_comes_with_it(server):
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "hf_quant_config.json", '{"quantization": {"quant_algo": "NVFP4"}}')
    assert "NVFP4" in fetch(server).quantization_text


def test_a_config_that_says_how_its_weights_are_stored_is_all_that_is_read(server):
    server.put("org/name", "config.json", '{"quantization_config": {"quant_method": "fp8"}}')
    server.put("org/name", "hf_quant_config.json", "{}")
    assert fetch(server).quantization_text == ""


@pytest.mark.parametrize(
    ("files", "size"),
    [
        ({"a-1.safetensors": 5, "a-2.safetensors": 7, "pytorch_model.bin": 12}, 12),
        ({"pytorch_model-1.bin": 5, "pytorch_model-2.bin": 6, "original/x.bin": 11}, 11),
        ({"a.safetensors": None}, None),
        ({"README.md": 5}, None),
    ],
)
def test_checkpoints_under_other_names_are_added_up(server, files, size):
    server.put("org/name", "config.json", CONFIG)
    listed = [{"rfilename": name, "size": each} for name, each in files.items()]
    path = "/api/models/org/name/revision/main?blobs=true"
    server.files[path] = (200, {}, json.dumps({"siblings": listed}).encode())
    assert fetch(server).weight_bytes == size


def test_a_single_file_gives_its_size_and_is_not_downloaded(server):
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "model.safetensors", b"x" * 1234)
    found = fetch(server)
    assert (found.weight_bytes, found.weights_from) == (1234, "model.safetensors")
    assert server.asked[-1][:2] == ("HEAD", "/org/name/resolve/main/model.safetensors")


def test_the_size_of_a_file_kept_elsewhere_is_the_linked_one(server):
    server.put("org/name", "config.json", CONFIG)
    away = {"Location": "http://127.0.0.1:9/blob", "X_Linked_Size": "988097824"}
    server.put("org/name", "model.safetensors", "", status=302, **away)
    assert fetch(server).weight_bytes == 988_097_824


def test_a_redirect_on_the_same_hub_is_followed(server):
    server.put("old/name", "config.json", "", status=307, Location="/org/name/resolve/main/c")
    server.put("org/name", "c", CONFIG)
    assert fetch(server, "old/name").config_text == CONFIG


def test_weights_without_safetensors_are_not_known_and_say_why(server):
    server.put("org/name", "config.json", CONFIG)
    found = fetch(server)
    assert found.weight_bytes is None
    assert found.weights_from == "org/name has no model.safetensors."


@pytest.mark.parametrize(
    "body",
    ["{}", "[]", "not json", "[" * 100_000, index("12"), index(-5), index(1.5), index(True), "null"]
    + ['{"metadata": {"total_size": ' + each + "}}" for each in ("NaN", "Infinity", "9" * 5000)],
)
def test_a_broken_index_costs_the_size_alone(server, body):
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "model.safetensors.index.json", body)
    found = fetch(server)
    assert found.config_text == CONFIG
    assert found.weight_bytes is None
    assert found.weights_from == "The model.safetensors.index.json does not state a total size."


def test_a_link_to_a_version_reads_that_version(server):
    server.put("org/name", "config.json", CONFIG, revision="v1.0")
    link = f"{server.url}/org/name/blob/v1.0/config.json"
    assert fetch(server, link).config_text == CONFIG


# --- tokens -------------------------------------------------------------------------------------


def test_the_token_comes_from_the_argument_or_the_environment_and_from_nowhere_else(
    server, monkeypatch
):
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "model.safetensors", b"x")
    sent = {}
    fetch(server)
    sent["none"] = {each[2] for each in server.asked}
    server.asked.clear()
    fetch(server, token="hf_given")
    sent["given"] = {each[2] for each in server.asked}
    server.asked.clear()
    monkeypatch.setenv("HF_TOKEN", "hf_environment")
    fetch(server)
    sent["environment"] = {each[2] for each in server.asked}
    server.asked.clear()
    fetch(server, token="")
    sent["declined"] = {each[2] for each in server.asked}
    assert sent == {
        "none": {None},
        "given": {"Bearer hf_given"},
        "environment": {"Bearer hf_environment"},
        "declined": {None},
    }


def test_the_token_does_not_follow_a_redirect_to_another_host(server):
    with Hub() as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        other.put("org/name", "config.json", CONFIG)
        away = f"{other.url}/org/name/resolve/main/config.json"
        server.put("org/name", "config.json", "", status=302, Location=away)
        assert fetch(server, token="hf_secret").config_text == CONFIG
        other.shutdown()
    assert server.asked[0][2] == "Bearer hf_secret"
    assert [each[2] for each in other.asked] == [None]


@pytest.mark.parametrize("token", ["hf_a\r\nX-Bad: 1", "hf_ä"])
def test_a_token_that_is_none_is_refused_before_it_is_sent(server, token):
    with pytest.raises(HubError, match="no token has"):
        fetch(server, token=token)
    assert server.asked == []


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (401, "GatedRepo", "org/name is gated: accept its terms on its page and set HF_TOKEN"),
        (403, "GatedRepo", "org/name is gated"),
        (401, "RepoNotFound", "org/name is not on 127.0.0.1:PORT, or it is private."),
        (404, "RepoNotFound", "org/name is not on 127.0.0.1:PORT, or it is private."),
        (404, "RevisionNotFound", "org/name has no version “main”."),
        (404, "EntryNotFound", "org/name has no config.json."),
        (404, None, "org/name has no config.json."),
        (401, None, "127.0.0.1:PORT does not show org/name: it asks for a token (HF_TOKEN)."),
        (429, None, "127.0.0.1:PORT answered with error 429 for org/name; try again later"),
        (503, None, "127.0.0.1:PORT answered with error 503 for org/name; try again later"),
    ],
)
def test_each_refusal_is_one_sentence(server, status, code, sentence):
    server.refuse("org/name", status, code)
    with pytest.raises(HubError) as problem:
        fetch(server)
    expected = sentence.replace("PORT", str(server.server_address[1]))
    assert str(problem.value).startswith(expected)
    assert str(problem.value).endswith(".")
    assert "\n" not in str(problem.value)


def test_a_token_that_is_not_accepted(server):
    server.refuse("org/name", 401)
    with pytest.raises(HubError, match="does not show org/name: the token is not accepted"):
        fetch(server, token="hf_old")


def test_nobody_listens():
    with pytest.raises(HubError, match=r"127\.0\.0\.1:9 cannot be reached; paste"):
        fetch_config("org/name", endpoint="http://127.0.0.1:9")


@pytest.mark.parametrize("endpoint", ["ftp://hub.example", "nonsense", "http://127.0.0.1:9/\x7f"])
def test_an_endpoint_that_is_none(endpoint):
    with pytest.raises(HubError, match="cannot be reached"):
        fetch_config("org/name", endpoint=endpoint)


def test_too_large(server, monkeypatch):
    monkeypatch.setattr(hub, "MOST_CONFIG_BYTES", 2_000_000)
    server.put("org/name", "config.json", b" " * 2_000_001)
    with pytest.raises(HubError, match=r"config\.json of org/name is larger than 2 MB"):
        fetch(server)


def test_an_index_that_is_too_large_costs_the_size_alone(server, monkeypatch):
    monkeypatch.setattr(hub, "MOST_INDEX_BYTES", 1_000_000)
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "model.safetensors.index.json", b" " * 1_000_001)
    found = fetch(server)
    assert found.weight_bytes is None
    assert "larger than 1 MB" in found.weights_from


def test_not_text(server):
    server.put("org/name", "config.json", b"\xff\xfe\x00")
    with pytest.raises(HubError, match="not UTF-8 text"):
        fetch(server)


@pytest.mark.parametrize("trouble", ["Wait", "Drip"])
def test_the_timeout_is_hard(server, trouble):
    server.put("org/name", "config.json", b" " * 1000, **{trouble: "1"})
    start = time.monotonic()
    with pytest.raises(HubError, match=r"did not answer within 0\.3 s; try again, or paste"):
        fetch(server, timeout=0.3)
    assert time.monotonic() - start < 1


def test_a_config_that_came_in_time_is_kept_when_the_size_does_not(server):
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "model.safetensors.index.json", index(1), Wait="1")
    found = fetch(server, timeout=0.5)
    assert (found.config_text, found.weight_bytes) == (CONFIG, None)
    assert "did not answer within 0.5 s with the size of the weights" in found.weights_from


def test_offline_mode(server, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match=r"Offline mode is set \(HF_HUB_OFFLINE\)"):
        fetch(server)


def test_the_library_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HubError, match="needs the package huggingface_hub, which is not installed"):
        fetch_config("org/name")


# --- ids and links ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Qwen/Qwen3-8B", ("Qwen/Qwen3-8B", "main")),
        ("  meta-llama/Llama-3.1-8B \n", ("meta-llama/Llama-3.1-8B", "main")),
        ("https://huggingface.co/Qwen/Qwen3-8B", ("Qwen/Qwen3-8B", "main")),
        ("http://www.huggingface.co/Qwen/Qwen3-8B/", ("Qwen/Qwen3-8B", "main")),
        ("huggingface.co/Qwen/Qwen3-8B?x=1#top", ("Qwen/Qwen3-8B", "main")),
        ("hf.co/Qwen/Qwen3-8B", ("Qwen/Qwen3-8B", "main")),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/main", ("Qwen/Qwen3-8B", "main")),
        ("https://huggingface.co/a/b/blob/v2/config.json", ("a/b", "v2")),
        ("https://huggingface.co/a/b/tree/refs%2Fpr%2F3", ("a/b", "refs/pr/3")),
        ("https://huggingface.co/a/b/discussions/7", ("a/b", "main")),
    ],
)
def test_ids_and_links(text, expected):
    assert parse_id(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpt2",
        "a/b/c",
        "../etc/passwd",
        "a/..",
        "a/b.git",
        "a--b/c",
        "a/b c",
        "a/ä",
        "a/b?x",
        "/a/b",
        "a/b-",
        "x" * 200 + "/y",
        "https://example.com/a/b",
        "https://huggingface.co.example.com/a/b",
        "https://user@huggingface.co/a/b",
        "ftp://huggingface.co/a/b",
        "https://huggingface.co/datasets/a/b",
        "https://huggingface.co/a",
        "https://huggingface.co/a/b/tree/..%2F..",
        "http://[/a/b",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_model_is_refused_without_a_request(text):
    with pytest.raises(HubError, match="is not a model's id or link; write organisation/name") as e:
        fetch_config(text, endpoint="http://127.0.0.1:9")
    assert len(str(e.value)) < 150


# --- a good guest -------------------------------------------------------------------------------


def test_nothing_is_imported_before_it_is_used_and_nothing_is_written(server, tmp_path):
    server.put("org/name", "config.json", CONFIG)
    server.put("org/name", "model.safetensors", b"x" * 10)
    code = (
        "import sys\n"
        "from planner.models.hub import fetch_config\n"
        "assert not {'huggingface_hub', 'httpx2'} & set(sys.modules)\n"
        f"print(fetch_config('org/name', endpoint={server.url!r}).weight_bytes)\n"
    )
    root = Path(__file__).resolve().parent.parent
    environment = {"HOME": str(tmp_path), "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "10\n"
    assert list(tmp_path.iterdir()) == []
