"""Start commands of engines built to serve many: vLLM, SGLang, TensorRT-LLM and their kin."""

import json
import math

from planner.models import drafting
from planner.models.states import AUTO
from planner.reports.command_parts import (
    CONFIG,
    Command,
    checkpoint,
    draft_path,
    flags,
    more_than_one,
    name_of,
    one_cache,
    per_group,
    pool_bytes,
    set_by_hand,
    state_type,
    step_of,
)

OF_LATENTS = dict.fromkeys(("fp8-ds-mla", "fp8-ds-v4"), "fp8_ds_mla")
VLLM_CACHE = {"fp8": "fp8", "int8": "int8_per_token_head", "nvfp4": "nvfp4", **OF_LATENTS}
EARLY_CACHE = {"fp8": "fp8", **OF_LATENTS}  # of vLLM before 0.20
SGLANG_CACHE = {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}
TENSORRT_CACHE = {"fp8": "fp8", "nvfp4": "nvfp4"}
STATES = ("float32", "float16", "bfloat16")
EARLY_STATES = {"vllm-0.20": STATES[:2], "vllm-ascend": ()}
OWN_STATES = (
    "Recurrent states: planned at 32 bits, as most such models ask for. Where a config.json names "
    "no type, vLLM stores them in the model's own, mostly 16 bits: plan that with bfloat16."
)
VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
ATOM_CACHE = {"fp8": "fp8"}


def _vllm_draft(scenario):
    """The value of vLLM's option for a drafter; None where there is none."""
    if not scenario.draft:
        return None
    method = {drafting.MTP: "mtp", drafting.EAGLE: "eagle3"}.get(scenario.draft, "draft_model")
    path, count = draft_path(scenario), {"num_speculative_tokens": scenario.drafted}
    return json.dumps({"method": method} | ({"model": path} if path else {}) | count)


def _sglang_draft(scenario):
    """SGLang's flags for a drafter whose guesses are one chain."""
    if not scenario.draft:
        return {}
    known = {drafting.MTP: "EAGLE", drafting.EAGLE: "EAGLE3"}
    return {
        "--speculative-algorithm": known.get(scenario.draft, "STANDALONE"),
        "--speculative-draft-model-path": draft_path(scenario),
        "--speculative-num-steps": scenario.drafted,
        "--speculative-eagle-topk": 1,
        "--speculative-num-draft-tokens": scenario.drafted + 1,
    }


def _rank(scenario):
    """The least of the ranks that vLLM takes which holds the largest adapter."""
    return min(rank for rank in VLLM_RANKS if rank >= scenario.lora_rank)


def vllm(scenario, engine):
    stored, more = checkpoint(scenario, engine)
    known = {"vllm-0.20": EARLY_CACHE, "vllm-ascend": {}}.get(engine.id, VLLM_CACHE)
    cache, notes = one_cache(scenario, known, engine.name)
    notes += more
    if cache == VLLM_CACHE["int8"]:
        notes += ("Cache: vLLM adds a scale of 4 bytes to each key and value of a head.",)
    state, more = state_type(scenario, EARLY_STATES.get(engine.id, STATES), engine.name)
    notes += more
    if scenario.state_format == AUTO and any(g.state_width == 4 for g in scenario.the_model.groups):
        notes += (OWN_STATES,)
    if engine.state_blocks:
        notes += ("Recurrent states: vLLM takes no number of them; --max-num-seqs bounds it.",)
    whole = scenario.ep == scenario.tp * scenario.dp
    if scenario.ep > 1 and not whole:
        notes += (f"Experts: vLLM deals them out over all devices of a stage, not {scenario.ep}.",)
    said = {
        "--max-model-len": scenario.context,
        "--max-num-seqs": per_group(scenario),
        # Of the two the size of the pool counts.
        "--gpu-memory-utilization": None if engine.pool_gib else engine.fraction,
        "--kv-cache-memory-bytes": pool_bytes(engine),
        "--max-num-batched-tokens": step_of(engine, per_group(scenario)),
        "--block-size": set_by_hand(scenario, "block_tokens", engine.block_tokens),
        "--kv-cache-dtype": cache,
        "--quantization": stored,
        "--dtype": "float32" if scenario.weights == "fp32" else None,
        "--tensor-parallel-size": more_than_one(scenario.tp),
        "--pipeline-parallel-size": more_than_one(scenario.pp),
        "--data-parallel-size": more_than_one(scenario.dp),
        "--enable-expert-parallel": True if scenario.ep > 1 else None,
        "--decode-context-parallel-size": more_than_one(scenario.dcp),
        "--speculative-config": _vllm_draft(scenario),
        "--enable-lora": True if scenario.loras else None,
        "--max-loras": scenario.loras or None,
        "--max-lora-rank": _rank(scenario) if scenario.loras else None,
        "--mamba-ssm-cache-dtype": state,
    }
    return Command(engine, ("vllm", "serve", name_of(scenario.the_model), *flags(said)), notes)


def sglang(scenario, engine):
    stored, more = checkpoint(scenario, engine)
    cache, notes = one_cache(scenario, SGLANG_CACHE, "SGLang")
    state, _ = state_type(scenario, STATES, "SGLang")
    notes += more
    # With experts the groups share them, so a stage's devices are one group; else each is a copy.
    together = scenario.dp > 1 and scenario.the_model.experts > 0
    groups, step = scenario.dp if together else 1, step_of(engine)
    if together and step:
        notes += (f"Step: SGLang shares its {step:,} tokens out over the {groups} groups.",)
    if engine.pool_gib:
        notes += ("Pool: SGLang takes no size in bytes; --max-total-tokens limits it in tokens.",)
    said = {
        "--context-length": scenario.context,
        "--max-running-requests": per_group(scenario) * groups,  # SGLang rounds a share down
        "--mem-fraction-static": engine.fraction,
        "--chunked-prefill-size": step,
        "--page-size": set_by_hand(scenario, "block_tokens", engine.block_tokens),
        "--kv-cache-dtype": cache,
        "--quantization": stored,
        "--dtype": "float32" if scenario.weights == "fp32" else None,
        "--tp-size": more_than_one(scenario.tp * groups),
        "--pp-size": more_than_one(scenario.pp),
        "--dp-size": more_than_one(scenario.dp // groups),
        "--attn-dp-size": more_than_one(groups),
        "--ep-size": more_than_one(scenario.ep),
        "--enable-lora": True if scenario.loras else None,
        "--max-loras-per-batch": scenario.loras or None,
        "--max-lora-rank": scenario.lora_rank if scenario.loras else None,
        "--lora-target-modules": "all" if scenario.loras else None,
        "--mamba-ssm-dtype": state,
        # Shared out over the groups, as the requests are.
        "--max-mamba-cache-size": round(engine.state_blocks) * groups or None,
        **_sglang_draft(scenario),
    }
    start = ("python3", "-m", "sglang.launch_server", "--model-path", name_of(scenario.the_model))
    return Command(engine, (*start, *flags(said)), notes)


def tensorrt(scenario, engine):
    _, more = checkpoint(scenario, engine)
    cache, notes = one_cache(scenario, TENSORRT_CACHE, "TensorRT-LLM")
    notes += more
    together = scenario.dp > 1 and scenario.the_model.experts > 0 and scenario.tp == 1
    if scenario.dp > 1 and not together:
        notes += (f"Data parallel: start {scenario.dp} of these, and share out the requests.",)
    # Experts are dealt out over the devices of one command's stage, and no further.
    devices = scenario.dp if together else scenario.tp
    ep = math.gcd(scenario.ep, devices)
    if ep != scenario.ep:
        notes += (f"Experts: one command deals them out over {ep} devices, not {scenario.ep}.",)
    block, step = set_by_hand(scenario, "block_tokens", engine.block_tokens), step_of(engine)
    pool, lines = pool_bytes(engine), []
    if pool:
        notes += ("Pool: TensorRT-LLM takes no more of it than its memory fraction allows.",)
    if cache or block or pool:
        lines = ["kv_cache_config:", f"  free_gpu_memory_fraction: {engine.fraction:g}"]
        lines += [f"  dtype: {cache}"] if cache else []
        lines += [f"  tokens_per_block: {block}"] if block else []
        lines += [f"  max_gpu_total_bytes: {pool}"] if pool else []
    lines += ["enable_attention_dp: true"] if together else []
    said = {
        "--max_seq_len": scenario.context,
        "--max_batch_size": per_group(scenario),
        "--kv_cache_free_gpu_memory_fraction": engine.fraction,
        "--max_num_tokens": step,
        # Without it a prompt that is longer than one step is turned away.
        "--enable_chunked_prefill": True if step and step < scenario.context else None,
        "--tp_size": more_than_one(devices),
        "--pp_size": more_than_one(scenario.pp),
        "--ep_size": more_than_one(ep),
        "--extra_llm_api_options": CONFIG if lines else None,
    }
    start = ("trtllm-serve", name_of(scenario.the_model))
    return Command(engine, (*start, *flags(said)), notes, "\n".join(lines))


def atom(scenario, engine):
    _, more = checkpoint(scenario, engine)
    cache, notes = one_cache(scenario, ATOM_CACHE, "ATOM")
    notes += more
    if engine.pool_gib:
        notes += ("Pool: ATOM takes no size in bytes; its memory fraction sets it.",)
    whole = scenario.ep == scenario.tp * scenario.dp
    if scenario.ep > 1 and not whole:
        notes += (f"Experts: ATOM deals them out over all devices of a stage, not {scenario.ep}.",)
    method = {"": None, drafting.MTP: "mtp", drafting.EAGLE: "eagle3"}.get(scenario.draft, "")
    if method == "":
        notes += ("Drafter: ATOM takes MTP or an EAGLE-3 head, no model of its own.",)
    said = {
        "--model": name_of(scenario.the_model),
        "--max-model-len": scenario.context,
        "--max-num-seqs": per_group(scenario),
        "--gpu-memory-utilization": engine.fraction,
        "--max-num-batched-tokens": step_of(engine),
        "--block-size": set_by_hand(scenario, "block_tokens", engine.block_tokens),
        "--kv_cache_dtype": cache,
        "--tensor-parallel-size": more_than_one(scenario.tp),
        "--pipeline-parallel-size": more_than_one(scenario.pp),
        "--data-parallel-size": more_than_one(scenario.dp),
        "--enable-dp-attention": True if scenario.dp > 1 and scenario.the_model.experts else None,
        "--enable-expert-parallel": True if scenario.ep > 1 else None,
        "--decode-context-parallel-size": more_than_one(scenario.dcp),
        "--method": method or None,
        "--num-speculative-tokens": scenario.drafted if method else None,
        "--draft-model": draft_path(scenario) if method else None,
    }
    return Command(engine, ("python3", "-m", "atom.entrypoints.openai_server", *flags(said)), notes)


def ktransformers(scenario, engine):
    _, more = checkpoint(scenario, engine)
    cache, notes = one_cache(scenario, SGLANG_CACHE, "KTransformers")
    notes += more
    if scenario.pp > 1 or scenario.dp > 1 or scenario.ep > 1:
        notes += ("Devices: how KTransformers splits but by tensors is not known here.",)
    if engine.pool_gib:
        notes += ("Pool: SGLang takes no size in bytes; --max-total-tokens limits it in tokens.",)
    if scenario.host_layers:
        notes += ("Host memory: KTransformers leaves experts there, no whole layers.",)
    model, left = scenario.the_model, scenario.host_experts
    kept = model.experts - round(model.experts * left / model.layers)
    name = name_of(model)
    if left:
        notes += (
            f"Experts: of every layer {kept} stay on the devices, as many bytes as the plan's;"
            " --kt-method names how those on the host are stored, --kt-cpuinfer its cores.",
        )
    said = {
        "--model-path": name,
        "--context-length": scenario.context,
        "--max-running-requests": per_group(scenario),
        "--mem-fraction-static": engine.fraction,
        "--chunked-prefill-size": step_of(engine),
        "--kv-cache-dtype": cache,
        "--tp-size": more_than_one(scenario.tp),
        "--kt-weight-path": name if left else None,
        "--kt-num-gpu-experts": kept if left else None,
    }
    return Command(engine, ("python3", "-m", "sglang.launch_server", *flags(said)), notes)
