"""The command that starts an engine as a scenario has it, and what of it the command cannot say.

Every word goes through `shlex.quote`: a model's name is text that anybody may have written.
What each flag takes was read in the engines' own parsers: tests/data/flags.csv says where. The
version they are of is the engine's `flags`, in presets/engines.csv.
"""

import json
import math
import re
import shlex
from dataclasses import dataclass, replace

from planner.engines.memory import Engine
from planner.inputs import overrides, presets, support
from planner.inputs.choices import published
from planner.inputs.scenario import Scenario
from planner.models import drafting
from planner.reports import measure
from planner.serving import Evaluation
from planner.units import GIB

CONFIG = "planner.yaml"
EAGLE_HEAD = "./eagle3-head"
GGUF_CACHE = {"fp16": "f16", "q8_0": "q8_0", "q4_1": "q4_1", "q4_0": "q4_0", "iq4_nl": "iq4_nl"}
PLAIN = ("fp16", "fp32")
ONLINE = {  # weights that are quantised while a 16-bit checkpoint is loaded
    "vllm-0.34": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block"},
    "vllm-0.26": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block"},
    "vllm": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block", "nf4": "bitsandbytes"},
    "vllm-0.20": {"fp8": "fp8", "nf4": "bitsandbytes"},
    "sglang": {"fp8": "fp8"},
}
UNREAD = {  # kinds of checkpoint, by a word of their name
    "vllm-0.34": ("GGUF", "bitsandbytes"),
    "vllm-0.26": ("GGUF", "bitsandbytes"),
    "vllm": ("GGUF",),
}
OF_LATENTS = dict.fromkeys(("fp8-ds-mla", "fp8-ds-v4"), "fp8_ds_mla")
VLLM_CACHE = {"fp8": "fp8", "int8": "int8_per_token_head", "nvfp4": "nvfp4", **OF_LATENTS}
EARLY_CACHE = {"fp8": "fp8", **OF_LATENTS}  # of vLLM before 0.20
SGLANG_CACHE = {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}
TENSORRT_CACHE = {"fp8": "fp8", "nvfp4": "nvfp4"}
MOST_SLOTS = 256  # LLAMA_MAX_SEQ of llama.cpp
LLAMA_BATCH = 2048  # llama.cpp's own --batch-size; it cuts --ubatch-size down to that


@dataclass(frozen=True)
class Command:
    """A start command of one engine. notes: what it cannot say, or what must be seen to first.

    words: the command's words, unquoted. config: text of the file called `CONFIG`, or “”.
    benchmark: the words of the command that then measures it, or none.
    """

    engine: Engine
    words: tuple[str, ...]
    notes: tuple[str, ...] = ()
    config: str = ""
    benchmark: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line for a POSIX shell."""
        return shlex.join(self.words)

    def script(self) -> str:
        """The engine and its flags' version, the notes, how to measure it, the file it needs, and
        the command."""
        of = f"{self.engine.name} (flags as of {self.engine.flags})"
        then = (f"Once it runs, to measure it: {shlex.join(self.benchmark)}",)
        lines = [f"# {line}" for line in (of, *self.notes, *(then if self.benchmark else ()))]
        if self.config:
            lines += [f"cat > {CONFIG} <<'EOF'", self.config.rstrip("\n"), "EOF"]
        return "\n".join([*lines, self.text])


def of(evaluation: Evaluation) -> list[Command]:
    """The command of the scenario's engine; where none is known here, those of others."""
    scenario = evaluation.plan.scenario
    if evaluation.engine.id in KINDS:
        return [command(scenario, evaluation.engine)]
    memory = evaluation.plan.memory_usable_bytes
    able = support.suggested(scenario.device)
    return [command(scenario, scenario.engine_as_is(each, memory)) for each in able]


def command(scenario: Scenario, engine: Engine) -> Command:
    """The command of an engine. KeyError where no command of that engine is known here."""
    made = KINDS[engine.id](scenario, engine)
    refused = support.refusal(engine.id, scenario.device)
    notes, most = [*([refused] if refused else []), *made.notes], scenario.the_model.max_context
    if most and scenario.context > most:
        notes.append(f"The model's own max context is {most:,} tokens.")
    if scenario.placed.any and engine.host == "none":
        notes.append(f"Host memory: {engine.name} leaves no layers there; none of it is said here.")
    if scenario.dcp > 1 and KINDS[engine.id] is not _vllm:
        notes.append(f"Decode context parallel: {engine.name} is told nothing of it here.")
    if scenario.draft and KINDS[engine.id] not in (_vllm, _sglang):
        notes.append(f"Drafter: how {engine.name} is told of one is not known here.")
    elif scenario.draft == drafting.EAGLE:
        notes.append(f"Put the path of an EAGLE-3 head of this model in place of {EAGLE_HEAD}.")
    if not published(scenario.the_model.source):
        notes.append("Put the path of the model in place of its name.")
    asks = measure.words(scenario, engine.id, _name(scenario.the_model))
    return replace(made, notes=tuple(notes), benchmark=asks)


def _name(model):
    """What to call a model in a command: never a word that could be taken for an option."""
    name = published(model.source) or model.name
    return f"./{name}" if name.startswith("-") else name


def _per_group(scenario):
    return math.ceil(scenario.concurrency / scenario.dp)


def _step(engine, least=1):
    """Tokens of the largest step, as far as the engine has one."""
    return max(int(engine.batched_tokens), least) if math.isfinite(engine.batched_tokens) else None


def _flags(pairs):
    """Words of the flags that have a value; True is a flag without one, None no flag."""
    for flag, value in pairs.items():
        if value is True:
            yield flag
        elif value is not None:
            yield from (flag, f"{value:g}" if isinstance(value, float) else str(value))


def _more(count):
    return count if count > 1 else None


def _set(scenario, name, value):
    """A figure that a person set; None where it is the engine's own."""
    return value if name in overrides.read(scenario.set) else None


def _pool_bytes(engine):
    """The pool of a fixed size in bytes; None where it has none."""
    return round(engine.pool_gib * GIB) if engine.pool_gib else None


def _checkpoint(scenario, engine):
    """The value of a flag that quantises while loading, or a note on the files that are needed."""
    online = ONLINE.get(engine.id, {})
    stored, own = scenario.weights, scenario.the_model.dtype
    if stored == own or (stored in PLAIN and own in PLAIN):
        return None, ()
    if own in PLAIN and stored in online:
        return online[stored], ()
    name = presets.weight_format(stored).name
    if any(kind in name for kind in UNREAD.get(engine.id, ())):
        return None, (f"Weights: as of {engine.flags} it reads no {name}, save by a plugin.",)
    return None, (f"Weights: give a checkpoint that is stored as {name}.",)


def _caches(scenario):
    """Formats of keys and values: the keys' for both where latents are stored, and no values."""
    values = any(group.value_dim for group in scenario.the_model.groups)
    return scenario.cache_k, scenario.cache_v if values else scenario.cache_k


def _one_cache(scenario, known, engine):
    """The cache type of an engine that has one for keys and values; None for 16 bits."""
    keys, values = _caches(scenario)
    if keys != values:
        return None, (
            f"Cache: {engine} stores keys and values alike; {keys} and {values} cannot be said.",
        )
    if keys != "fp16" and keys not in known:
        return None, (
            f"Cache: {engine} has no {presets.cache_format(keys).name}; 16 bits are used.",
        )
    return known.get(keys), ()


def _draft_path(scenario):
    """Where the drafter's own weights are; None where they came with the model."""
    if scenario.draft in ("", drafting.MTP):
        return None
    other = presets.draft_model(scenario.draft)
    return _name(other) if other else EAGLE_HEAD


def _vllm_draft(scenario):
    """The value of vLLM's option for a drafter; None where there is none."""
    if not scenario.draft:
        return None
    method = {drafting.MTP: "mtp", drafting.EAGLE: "eagle3"}.get(scenario.draft, "draft_model")
    path, count = _draft_path(scenario), {"num_speculative_tokens": scenario.drafted}
    return json.dumps({"method": method} | ({"model": path} if path else {}) | count)


def _sglang_draft(scenario):
    """SGLang's flags for a drafter whose guesses are one chain."""
    if not scenario.draft:
        return {}
    known = {drafting.MTP: "EAGLE", drafting.EAGLE: "EAGLE3"}
    return {
        "--speculative-algorithm": known.get(scenario.draft, "STANDALONE"),
        "--speculative-draft-model-path": _draft_path(scenario),
        "--speculative-num-steps": scenario.drafted,
        "--speculative-eagle-topk": 1,
        "--speculative-num-draft-tokens": scenario.drafted + 1,
    }


def _vllm(scenario, engine):
    stored, more = _checkpoint(scenario, engine)
    known = EARLY_CACHE if engine.id == "vllm-0.20" else VLLM_CACHE
    cache, notes = _one_cache(scenario, known, engine.name)
    notes += more
    if cache == VLLM_CACHE["int8"]:
        notes += ("Cache: vLLM adds a scale of 4 bytes to each key and value of a head.",)
    whole = scenario.ep == scenario.tp * scenario.dp
    if scenario.ep > 1 and not whole:
        notes += (f"Experts: vLLM deals them out over all devices of a stage, not {scenario.ep}.",)
    flags = {
        "--max-model-len": scenario.context,
        "--max-num-seqs": _per_group(scenario),
        # Of the two the size of the pool counts.
        "--gpu-memory-utilization": None if engine.pool_gib else engine.fraction,
        "--kv-cache-memory-bytes": _pool_bytes(engine),
        "--max-num-batched-tokens": _step(engine, _per_group(scenario)),
        "--block-size": _set(scenario, "block_tokens", engine.block_tokens),
        "--kv-cache-dtype": cache,
        "--quantization": stored,
        "--dtype": "float32" if scenario.weights == "fp32" else None,
        "--tensor-parallel-size": _more(scenario.tp),
        "--pipeline-parallel-size": _more(scenario.pp),
        "--data-parallel-size": _more(scenario.dp),
        "--enable-expert-parallel": True if scenario.ep > 1 else None,
        "--decode-context-parallel-size": _more(scenario.dcp),
        "--speculative-config": _vllm_draft(scenario),
    }
    return Command(engine, ("vllm", "serve", _name(scenario.the_model), *_flags(flags)), notes)


def _sglang(scenario, engine):
    stored, more = _checkpoint(scenario, engine)
    cache, notes = _one_cache(scenario, SGLANG_CACHE, "SGLang")
    notes += more
    # With experts the groups share them, so a stage's devices are one group; else each is a copy.
    together = scenario.dp > 1 and scenario.the_model.experts > 0
    groups, step = scenario.dp if together else 1, _step(engine)
    if together and step:
        notes += (f"Step: SGLang shares its {step:,} tokens out over the {groups} groups.",)
    if engine.pool_gib:
        notes += ("Pool: SGLang takes no size in bytes; --max-total-tokens limits it in tokens.",)
    flags = {
        "--context-length": scenario.context,
        "--max-running-requests": _per_group(scenario) * groups,  # SGLang rounds a share down
        "--mem-fraction-static": engine.fraction,
        "--chunked-prefill-size": step,
        "--page-size": _set(scenario, "block_tokens", engine.block_tokens),
        "--kv-cache-dtype": cache,
        "--quantization": stored,
        "--dtype": "float32" if scenario.weights == "fp32" else None,
        "--tp-size": _more(scenario.tp * groups),
        "--pp-size": _more(scenario.pp),
        "--dp-size": _more(scenario.dp // groups),
        "--attn-dp-size": _more(groups),
        "--ep-size": _more(scenario.ep),
        **_sglang_draft(scenario),
    }
    start = ("python3", "-m", "sglang.launch_server", "--model-path", _name(scenario.the_model))
    return Command(engine, (*start, *_flags(flags)), notes)


def _tensorrt(scenario, engine):
    _, more = _checkpoint(scenario, engine)
    cache, notes = _one_cache(scenario, TENSORRT_CACHE, "TensorRT-LLM")
    notes += more
    together = scenario.dp > 1 and scenario.the_model.experts > 0 and scenario.tp == 1
    if scenario.dp > 1 and not together:
        notes += (f"Data parallel: start {scenario.dp} of these, and share out the requests.",)
    # Experts are dealt out over the devices of one command's stage, and no further.
    devices = scenario.dp if together else scenario.tp
    ep = math.gcd(scenario.ep, devices)
    if ep != scenario.ep:
        notes += (f"Experts: one command deals them out over {ep} devices, not {scenario.ep}.",)
    block, step = _set(scenario, "block_tokens", engine.block_tokens), _step(engine)
    pool, lines = _pool_bytes(engine), []
    if pool:
        notes += ("Pool: TensorRT-LLM takes no more of it than its memory fraction allows.",)
    if cache or block or pool:
        lines = ["kv_cache_config:", f"  free_gpu_memory_fraction: {engine.fraction:g}"]
        lines += [f"  dtype: {cache}"] if cache else []
        lines += [f"  tokens_per_block: {block}"] if block else []
        lines += [f"  max_gpu_total_bytes: {pool}"] if pool else []
    lines += ["enable_attention_dp: true"] if together else []
    flags = {
        "--max_seq_len": scenario.context,
        "--max_batch_size": _per_group(scenario),
        "--kv_cache_free_gpu_memory_fraction": engine.fraction,
        "--max_num_tokens": step,
        # Without it a prompt that is longer than one step is turned away.
        "--enable_chunked_prefill": True if step and step < scenario.context else None,
        "--tp_size": _more(devices),
        "--pp_size": _more(scenario.pp),
        "--ep_size": _more(ep),
        "--extra_llm_api_options": CONFIG if lines else None,
    }
    start = ("trtllm-serve", _name(scenario.the_model))
    return Command(engine, (*start, *_flags(flags)), notes, "\n".join(lines))


def _llama(scenario, engine):
    flash, requests = engine.id != "llama.cpp-cuda-nofa", _per_group(scenario)
    name = presets.weight_format(scenario.weights).name
    caches, step = [GGUF_CACHE.get(each) for each in _caches(scenario)], _step(engine)
    notes = (
        ()
        if engine.fraction == 1
        else ("Memory fraction: llama.cpp has none; it takes what it needs.",)
    )
    if engine.pool_gib:
        notes += ("Pool: llama.cpp allocates what its context needs, whatever size is set here.",)
    if None in caches:
        notes += ("Cache: llama.cpp has no such type; 16 bits are used.",)
    if caches[1] not in ("f16", None) and not flash:
        notes += ("Cache: quantised values need flash attention.",)
    if requests > MOST_SLOTS:
        notes += (f"Requests: llama.cpp has at most {MOST_SLOTS} at once.",)
    if scenario.dp > 1:
        notes += (f"Data parallel: start {scenario.dp} of these, and share out the requests.",)
    if scenario.ep > 1:
        notes += ("Experts: llama.cpp does not deal them out over devices.",)
    if scenario.tp > 1 and scenario.pp > 1:
        notes += ("Devices: llama.cpp splits by layers or by tensors, not by both.",)
    if scenario.tp > 1:
        notes += ("Devices: the split by tensors is experimental, and not there for every model.",)
    if scenario.tp > 1 and not flash:
        notes += ("Devices: the split by tensors needs flash attention.",)
    called = re.sub(r"[^\w.]+", "-", scenario.the_model.name).strip("-") or "model"
    file = f"{called}-{scenario.weights.upper().replace('FP', 'F')}.gguf"
    if scenario.weights not in PLAIN and not name.startswith("GGUF"):
        notes += (f"Weights: GGUF has no {name}.",)
    left = scenario.host_layers
    split = "tensor" if scenario.tp > 1 else "layer" if scenario.pp > 1 else "none"
    flags = {
        "--model": f"./{file}",
        "--ctx-size": scenario.context * requests,
        "--parallel": requests,
        "--cache-type-k": caches[0],
        "--cache-type-v": caches[1],
        "--batch-size": step if step and step > LLAMA_BATCH else None,
        "--ubatch-size": step,
        "--flash-attn": "on" if flash else "off",
        "--n-gpu-layers": scenario.the_model.layers + 1 - left if left else 999,
        "--n-cpu-moe": scenario.host_experts or None,
        "--split-mode": split,
    }
    return Command(engine, ("llama-server", *_flags(flags)), notes)


KINDS = {
    **dict.fromkeys(("vllm-0.34", "vllm-0.26", "vllm", "vllm-0.20"), _vllm),
    "sglang": _sglang,
    "tensorrt-llm": _tensorrt,
    **dict.fromkeys(
        ("llama.cpp-cuda", "llama.cpp-cuda-nofa", "llama.cpp-metal", "llama.cpp-vulkan"), _llama
    ),
}
