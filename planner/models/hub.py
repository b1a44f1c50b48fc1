"""A model's config.json and the size of its weights, by its id on the Hugging Face hub.

The only module that touches the network, and only when it is asked to: the library is imported in
the call, nothing is written to disk, and whatever goes wrong becomes a HubError with one sentence
to show. Everything else in the planner works without it.
"""

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

MOST_CONFIG_BYTES = 4_000_000
MOST_INDEX_BYTES = 40_000_000  # an index with 100,000 expert matrices has 15 MB
CHUNK_BYTES = 65_536

HOSTS = {"huggingface.co", "www.huggingface.co", "hf.co"}
# Words that stand where an organisation stands in a model's link.
NO_ORGANISATIONS = {"api", "collections", "datasets", "docs", "models", "papers", "spaces"}

CONFIG, INDEX, SINGLE = "config.json", "model.safetensors.index.json", "model.safetensors"
QUANTIZATION = "hf_quant_config.json"  # where NVIDIA's Model Optimizer describes the weights
LISTING = "list of files"

# What the hub says in X-Error-Code, and what it means for the model {id}.
MEANINGS = {
    "GatedRepo": "{id} is gated: accept its terms on its page and set HF_TOKEN to a token of that "
    "account, or paste its config.json.",
    "RepoNotFound": "{id} is not on {host}, or it is private.",
    "RevisionNotFound": "{id} has no version “{revision}”.",
    "EntryNotFound": "{id} has no {file}.",
}


class HubError(Exception):
    """What went wrong, in one sentence for the screen."""


class _NoSuchFileError(HubError):
    """The model is there, the file is not."""


@dataclass(frozen=True)
class Fetched:
    """A config.json as text, with the weights' bytes where the hub states them, else None.

    source: the address of the config, at the very commit that was read. weights_from: the file that
    the bytes were read from, or a sentence that says why they are not known. quantization_text: the
    hf_quant_config.json beside a config that says nothing of how weights are stored; "" without.
    """

    config_text: str
    weight_bytes: int | None
    source: str
    weights_from: str
    quantization_text: str = ""


def fetch_config(model_id, token=None, timeout=10.0, endpoint=None):
    """Fetch a model's config.json; returns Fetched, raises HubError.

    model_id: `org/name`, or a link to the model's page or to one of its versions. token: for gated
    models; by default what the environment has in HF_TOKEN, "" for none. timeout: seconds for all
    of it, after which the call returns whatever the network does. endpoint: another hub's address;
    by default what the library is set to. No file of weights is downloaded.
    """
    repository, revision = parse_id(model_id, endpoint)
    token = os.environ.get("HF_TOKEN", "") if token is None else token
    if not (token.isascii() and token.isprintable()):
        raise HubError("The token has characters that no token has.")
    reader = _Reader(repository, revision, token, endpoint, time.monotonic() + timeout)
    late = f"{reader.host} did not answer within {timeout:g} s"
    # A thread, since no setting of the client bounds a name look-up or an answer that drips in.
    pool = ThreadPoolExecutor(1)
    try:
        text, source, beside = pool.submit(reader.config).result(reader.left())
        try:
            size, origin = pool.submit(reader.weights).result(reader.left())
        except TimeoutError:
            size, origin = None, f"{late} with the size of the weights."
    except TimeoutError:
        raise HubError(f"{late}; try again, or paste the model's config.json.") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return Fetched(text, size, source, origin, beside)


def parse_id(text, endpoint=None):
    """(`org/name`, revision) of an id or a web link; "main" where no version is named."""
    problem = HubError(
        f"“{text if len(text) <= 60 else text[:59] + '…'}” is not a model's id or link; "
        "write organisation/name, as on its page."
    )
    path, revision = text.strip(), "main"
    hosts = HOSTS | {urlsplit(endpoint).netloc} if endpoint else HOSTS
    if "://" in path or path.partition("/")[0].lower() in hosts:
        try:
            link = urlsplit(path if "://" in path else f"https://{path}")
        except ValueError:
            raise problem from None
        if link.scheme not in {"http", "https"} or link.netloc.lower() not in hosts:
            raise problem
        parts = link.path.strip("/").split("/")
        if len(parts) > 3 and parts[2] in {"tree", "blob", "resolve", "raw"}:
            revision = unquote(parts[3])
        path = "/".join(parts[:2])
    name = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
    if not re.fullmatch(rf"(?=.{{3,96}}$)(?!.*(\.\.|--)){name}/{name}(?<![.-])", path):
        raise problem
    if path.partition("/")[0] in NO_ORGANISATIONS or path.endswith(".git"):
        raise problem
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,99}", revision):
        raise problem
    return path, revision


class _Reader:
    """Reads files of one version of one model until a deadline."""

    def __init__(self, repository, revision, token, endpoint, deadline):
        try:
            import huggingface_hub
            from huggingface_hub.utils import build_hf_headers
        except ImportError:
            raise HubError(
                "Reading a model by its id needs the package huggingface_hub, which is not "
                "installed; paste the model's config.json instead."
            ) from None
        self.hub = huggingface_hub
        self.repository, self.revision, self.deadline = repository, revision, deadline
        self.endpoint = (endpoint or huggingface_hub.constants.ENDPOINT).rstrip("/")
        self.host = urlsplit(self.endpoint).netloc or self.endpoint
        self.token = token or False  # False: the library must not look for one elsewhere
        # Bytes as they are: a size limit on what is packed would bound nothing.
        self.headers = {**build_hf_headers(token=self.token), "Accept-Encoding": "identity"}

    def left(self):
        """Seconds until the deadline; never none at all, which would mean no limit."""
        return max(self.deadline - time.monotonic(), 0.001)

    def config(self):
        """(text, address) of config.json, and the text of the quantisation beside it, or ""."""
        text, commit = self._text(CONFIG)
        beside = ""
        if '"quantization' not in text:
            with suppress(_NoSuchFileError):
                beside, _ = self._text(QUANTIZATION)
        return text, f"{self.endpoint}/{self.repository}/blob/{commit}/{CONFIG}", beside

    def _text(self, file):
        body, commit = self._download(file, MOST_CONFIG_BYTES)
        try:
            return body.decode("utf-8"), commit
        except UnicodeDecodeError:
            raise HubError(f"The {file} of {self.repository} is not UTF-8 text.") from None

    def weights(self):
        """(bytes, file that says so), or (None, why not)."""
        try:
            body, _ = self._download(INDEX, MOST_INDEX_BYTES)
            return _total_size(body), INDEX
        except _NoSuchFileError:
            pass  # small models have one file and no index
        except HubError as problem:
            return None, str(problem)
        try:
            return self._size(SINGLE), SINGLE
        except HubError as problem:
            return self._listed() or (None, str(problem))

    def _listed(self):
        """(bytes, files) of checkpoints under other names, as the list of files has them, or None.

        One kind of file counts, so that a second copy in another format is not added.
        """
        version = quote(self.revision, safe="")
        address = f"{self.endpoint}/api/models/{self.repository}/revision/{version}?blobs=true"
        try:
            body, _ = self._download(LISTING, MOST_INDEX_BYTES, address)
            found = {each["rfilename"]: each["size"] for each in json.loads(body)["siblings"]}
        except (HubError, ValueError, TypeError, KeyError, RecursionError):
            return None
        for ending in (".safetensors", ".bin"):
            sizes = [size for name, size in found.items() if re.fullmatch(rf"[^/]+\{ending}", name)]
            if sizes and all(isinstance(size, int) and size > 0 for size in sizes):
                return sum(sizes), f"all *{ending}"
        return None

    def _download(self, file, most, address=None):
        """(bytes, commit) of a small file, never more than `most`."""
        with (
            self._explained(),
            self.hub.get_session().stream(
                "GET",
                address or self._address(file),
                headers=self.headers,
                timeout=self.left(),
                follow_redirects=True,
            ) as answer,
        ):
            self._check(answer, file)
            body = bytearray()
            for chunk in answer.iter_raw(CHUNK_BYTES):
                body += chunk
                if len(body) > most:
                    raise HubError(
                        f"The {file} of {self.repository} is larger than {most // 10**6} MB."
                    )
                if time.monotonic() > self.deadline:
                    raise TimeoutError
            first = (answer.history or [answer])[0]
            return bytes(body), first.headers.get("X-Repo-Commit", self.revision)

    def _size(self, file):
        """Bytes of a file that is not downloaded."""
        with self._explained():
            try:
                found = self.hub.get_hf_file_metadata(
                    self._address(file), token=self.token, timeout=self.left()
                )
            except self.hub.errors.HfHubHTTPError as problem:
                self._check(problem.response, file)
                raise
        if not found.size:
            raise HubError(f"{self.host} does not say how large the {file} is.")
        return found.size

    def _address(self, file):
        return self.hub.hf_hub_url(
            self.repository, file, revision=self.revision, endpoint=self.endpoint
        )

    def _check(self, answer, file):
        """Raise what a refusal by the hub means; its body is not looked at."""
        if answer.status_code < 400:
            return
        code = answer.headers.get("X-Error-Code")
        if code is None and answer.status_code == 404:
            code = "EntryNotFound"
        if code in MEANINGS:
            kind = _NoSuchFileError if code == "EntryNotFound" else HubError
            facts = {"id": self.repository, "revision": self.revision, "host": self.host}
            raise kind(MEANINGS[code].format(file=file, **facts))
        if answer.status_code in {401, 403}:
            why = "the token is not accepted" if self.token else "it asks for a token (HF_TOKEN)"
            raise HubError(f"{self.host} does not show {self.repository}: {why}.")
        raise HubError(
            f"{self.host} answered with error {answer.status_code} for {self.repository}; "
            "try again later, or paste its config.json."
        )

    @contextmanager
    def _explained(self):
        """Turn what the client raises into sentences."""
        import httpx2  # the library's own client

        try:
            yield
        except self.hub.errors.OfflineModeIsEnabled:
            raise HubError(
                "Offline mode is set (HF_HUB_OFFLINE); paste the model's config.json instead."
            ) from None
        except httpx2.TimeoutException:
            raise TimeoutError from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise HubError(
                f"{self.host} cannot be reached; paste the model's config.json instead."
            ) from None


def _total_size(body):
    """Bytes of all tensors, as the index of a split checkpoint states them."""
    try:
        size = json.loads(body)["metadata"]["total_size"]
        if isinstance(size, bool) or int(size) != size or size <= 0:
            raise ValueError
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise HubError(f"The {INDEX} does not state a total size.") from None
    return int(size)
