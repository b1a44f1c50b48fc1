"""The command that starts an engine as a scenario has it, and what of it the command cannot say.

Every word goes through `shlex.quote`: a model's name is text that anybody may have written.
What each flag takes was read in the engines' own parsers: tests/data/flags.csv says where. The
version they are of is the engine's `flags`, in presets/engines.csv.
"""

from dataclasses import replace

from planner.engines.memory import Engine
from planner.inputs import support
from planner.inputs.choices import published
from planner.inputs.scenario import Scenario
from planner.models import drafting, states
from planner.reports import measure
from planner.reports.command_parts import EAGLE_HEAD, Command, name_of, state_type
from planner.reports.commands_local import exllama, ik_llama, llama, mlx, ollama
from planner.reports.commands_serving import (
    atom,
    ktransformers,
    sglang,
    tensorrt,
    vllm,
)
from planner.serving import Evaluation


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
    if scenario.dcp > 1 and KINDS[engine.id] not in (vllm, atom):
        notes.append(f"Decode context parallel: {engine.name} is told nothing of it here.")
    if scenario.draft and KINDS[engine.id] not in (vllm, sglang, atom, mlx, exllama):
        notes.append(f"Drafter: how {engine.name} is told of one is not known here.")
    elif scenario.draft == drafting.EAGLE:
        notes.append(f"Put the path of an EAGLE-3 head of this model in place of {EAGLE_HEAD}.")
    if scenario.loras and KINDS[engine.id] not in (vllm, sglang):
        notes.append(f"LoRA adapters: {engine.name} is told nothing of them here.")
    if scenario.state_format != states.AUTO and KINDS[engine.id] not in (vllm, sglang):
        notes += state_type(scenario, (), engine.name)[1]
    if engine.state_blocks and KINDS[engine.id] not in (vllm, sglang):
        notes.append(f"Recurrent states: {engine.name} is told no number of them here.")
    if not published(scenario.the_model.source):
        notes.append("Put the path of the model in place of its name.")
    asks = measure.words(scenario, engine.id, name_of(scenario.the_model))
    return replace(made, notes=tuple(notes), benchmark=asks)


KINDS = {
    **dict.fromkeys(("vllm-0.34", "vllm-0.26", "vllm", "vllm-0.20", "vllm-ascend"), vllm),
    "sglang": sglang,
    "tensorrt-llm": tensorrt,
    "atom": atom,
    "ktransformers": ktransformers,
    **dict.fromkeys(
        ("llama.cpp-cuda", "llama.cpp-cuda-nofa", "llama.cpp-metal", "llama.cpp-vulkan"), llama
    ),
    "ik_llama.cpp": ik_llama,
    "ollama-cuda": ollama,
    "ollama-metal": ollama,
    "mlx": mlx,
    "exllamav3": exllama,
}
