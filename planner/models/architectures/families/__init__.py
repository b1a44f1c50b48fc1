"""The table of architectures: model_type -> how its config.json is to be read.

A row says how an architecture differs from Llama; the rows stand in the files beside this one by
what their layers store: every token (plain), some tokens (windowed), a latent (latent), a state of
fixed size in some layers (stateful), or what an encoder hands over (encoded).
"""

from planner.models.architectures.families.encoded import ENCODED
from planner.models.architectures.families.latent import LATENT
from planner.models.architectures.families.plain import PLAIN
from planner.models.architectures.families.stateful import STATEFUL
from planner.models.architectures.families.windowed import WINDOWED

FAMILIES = {**PLAIN, **WINDOWED, **LATENT, **STATEFUL, **ENCODED}
