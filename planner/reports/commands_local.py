"""Start commands of engines for one or few users: llama.cpp and its kin, MLX, ExLlamaV3."""

import re

from planner.inputs import presets
from planner.models import drafting
from planner.reports.command_parts import (
    PLAIN,
    Command,
    caches,
    draft_path,
    flags,
    name_of,
    per_group,
    pool_bytes,
    step_of,
)

GGUF_CACHE = {"fp16": "f16", "q8_0": "q8_0", "q4_1": "q4_1", "q4_0": "q4_0", "iq4_nl": "iq4_nl"}
MOST_SLOTS = 256  # LLAMA_MAX_SEQ of llama.cpp
EXLLAMA_BITS = {"fp16": "16", "int8": "8", "q8_0": "8", "q4_0": "4", "q4_1": "4"}
LLAMA_BATCH = 2048  # llama.cpp's own --batch-size; it cuts --ubatch-size down to that


def _no_fraction(engine, name):
    """A note where a fraction is set of an engine that has none."""
    if engine.fraction == 1:
        return ()
    return (f"Memory fraction: {name} has none; it takes what it needs.",)


def llama(scenario, engine):
    flash, requests = engine.id != "llama.cpp-cuda-nofa", per_group(scenario)
    name = presets.weight_format(scenario.weights).name
    types, step = [GGUF_CACHE.get(each) for each in caches(scenario)], step_of(engine)
    notes = _no_fraction(engine, "llama.cpp")
    if engine.pool_gib:
        notes += ("Pool: llama.cpp allocates what its context needs, whatever size is set here.",)
    if None in types:
        notes += ("Cache: llama.cpp has no such type; 16 bits are used.",)
    if types[1] not in ("f16", None) and not flash:
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
    said = {
        "--model": f"./{file}",
        "--ctx-size": scenario.context * requests,
        "--parallel": requests,
        "--cache-type-k": types[0],
        "--cache-type-v": types[1],
        "--batch-size": step if step and step > LLAMA_BATCH else None,
        "--ubatch-size": step,
        "--flash-attn": "on" if flash else "off",
        "--n-gpu-layers": scenario.the_model.layers + 1 - left if left else 999,
        "--n-cpu-moe": scenario.host_experts or None,
        "--split-mode": split,
    }
    return Command(engine, ("llama-server", *flags(said)), notes)


def ik_llama(scenario, engine):
    """As llama.cpp, whose parser it had; only its split of devices has other words."""
    made = llama(scenario, engine)
    own = {"tensor": "graph"}
    words = tuple(own.get(word, word) for word in made.words)
    notes = [note.replace("llama.cpp", "ik_llama.cpp") for note in made.notes]
    return Command(engine, words, tuple(notes))


def ollama(scenario, engine):
    types, requests = [GGUF_CACHE.get(each) for each in caches(scenario)], per_group(scenario)
    stored = presets.weight_format(scenario.weights).name
    notes = (f"Then: ollama run, and the tag of {scenario.the_model.name} stored as {stored}.",)
    if types[0] != types[1] or None in types:
        notes += ("Cache: ollama has one type for keys and values; 16 bits are used.",)
        types = ["f16", "f16"]
    notes += _no_fraction(engine, "ollama")
    if engine.pool_gib:
        notes += ("Pool: ollama allocates what its context needs, whatever size is set here.",)
    if scenario.tp * scenario.pp > 1:
        notes += ("Devices: ollama spreads layers by itself where one device is too small.",)
    if scenario.dp > 1:
        notes += (f"Data parallel: start {scenario.dp} of these, and share out the requests.",)
    if scenario.host_layers or scenario.host_experts:
        notes += ("Host memory: ollama decides by itself how many layers stay there (num_gpu).",)
    said = {
        "OLLAMA_CONTEXT_LENGTH": scenario.context,
        "OLLAMA_NUM_PARALLEL": requests,
        "OLLAMA_KV_CACHE_TYPE": types[0],
        "OLLAMA_FLASH_ATTENTION": 1,
        "OLLAMA_SCHED_SPREAD": 1 if scenario.tp * scenario.pp > 1 else None,
    }
    named = (f"{name}={value}" for name, value in said.items() if value is not None)
    return Command(engine, ("env", *named, "ollama", "serve"), notes)


def mlx(scenario, engine):
    notes = _no_fraction(engine, "MLX")
    if set(caches(scenario)) != {"fp16"}:
        notes += ("Cache: the server of MLX keeps 16 bits.",)
    if scenario.weights not in PLAIN and not scenario.weights.startswith("mlx"):
        stored = presets.weight_format(scenario.weights).name
        notes += (f"Weights: MLX has formats of its own, not {stored}.",)
    if scenario.tp * scenario.pp * scenario.dp > 1:
        notes += ("Devices: several Macs are started by mlx.launch, which is not said here.",)
    drafter = scenario.draft not in ("", drafting.MTP, drafting.EAGLE)
    if scenario.draft and not drafter:
        notes += ("Drafter: MLX takes a model of its own, no head.",)
    said = {
        "--model": name_of(scenario.the_model),
        "--decode-concurrency": per_group(scenario),
        "--prefill-step-size": step_of(engine),
        "--prompt-cache-bytes": pool_bytes(engine),
        "--draft-model": draft_path(scenario) if drafter else None,
        "--num-draft-tokens": scenario.drafted if drafter else None,
    }
    return Command(engine, ("mlx_lm.server", *flags(said)), notes)


def exllama(scenario, engine):
    bits = [EXLLAMA_BITS.get(each) for each in caches(scenario)]
    notes = _no_fraction(engine, "ExLlamaV3")
    if None in bits:
        notes += ("Cache: ExLlamaV3 has no such type; 16 bits are used.",)
    if not scenario.weights.startswith("exl3"):
        stored = presets.weight_format(scenario.weights).name
        notes += (f"Weights: TabbyAPI serves EXL3, not {stored}.",)
    if scenario.pp * scenario.dp > 1:
        notes += ("Devices: layers are split by themselves where one device is too small.",)
    if scenario.host_layers:
        notes += ("Host memory: ExLlamaV3 leaves experts there, no whole layers.",)
    if scenario.draft:
        notes += ("Drafter: set its name and mode in the section draft_model of config.yml.",)
    mixed = None not in bits and bits != ["16", "16"]
    said = {
        "--model-name": name_of(scenario.the_model).rpartition("/")[2],
        "--max-seq-len": scenario.context,
        "--cache-size": -(-scenario.context // 256) * 256 * per_group(scenario),
        "--cache-mode": ",".join(bits) if mixed else None,
        "--max-batch-size": per_group(scenario),
        "--chunk-size": step_of(engine),
        "--tensor-parallel": "true" if scenario.tp > 1 else None,
        "--cpu-moe-offload-layers": scenario.host_experts or None,
    }
    return Command(engine, ("python3", "main.py", *flags(said)), notes)
