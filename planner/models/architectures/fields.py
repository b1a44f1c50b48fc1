"""Reading numbers out of a config.json: by any of their names, within bounds, leaving a trace."""

from dataclasses import replace

from planner.models.notation import shorten

REQUIRED = object()

# The planner's word for a field: the names that files use for it, the first that is there counts.
NAMES = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim", "attention_head_dim"),
    "value_dim": ("v_head_dim",),
    "intermediate": ("intermediate_size", "n_inner", "ffn_dim"),
    "vocabulary": ("vocab_size",),
    "context": (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "seq_length",
        "model_max_length",
        "max_sequence_length",
        "max_target_positions",
    ),
    "window": ("sliding_window",),
    "experts": ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"),
    "experts_per_token": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "top_k_experts",
        "moe_topk",
        "moe_top_k",
        "moe_k",
    ),
    "expert_intermediate": ("moe_intermediate_size",),
    "shared_experts": (
        "n_shared_experts",
        "num_shared_experts",
        "num_shared_expert",
        "moe_num_shared_experts",
    ),
    "first_dense": ("first_k_dense_replace", "num_dense_layers"),
    "moe_latent": ("moe_latent_size", "routed_expert_hidden_size"),
    "shared_intermediate": (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
    ),
    "draft_layers": (
        "num_nextn_predict_layers",
        "mtp_num_hidden_layers",
        "num_mtp_modules",
    ),
    "state_dtype": ("mamba_ssm_cache_dtype", "mamba_ssm_dtype"),
    "mamba_bias": ("mamba_conv_bias", "use_conv_bias"),
    "kda_heads": ("num_heads", "linear_num_heads", "num_attention_heads"),
    "kda_width": ("linear_head_dim", "head_dim"),
    "kda_taps": ("short_conv_kernel_size", "linear_conv_kernel_dim"),
    "index_width": ("index_head_dim", "indexer_head_dim", "sparse_index_dim"),
    "index_heads": ("index_n_heads", "indexer_n_heads", "sparse_num_index_heads"),
    "dtype": ("dtype", "torch_dtype"),
    "quantization": ("quantization_config", "compression_config"),
}
MOST = 10**8
MOST_LAYERS = 2_000


class Refusal(ValueError):  # noqa: N818 - it is an answer, not a fault
    """A file that cannot be read as a model, and why, in a plain sentence."""


class Fields:
    """One object of a config, read by the planner's words.

    used: field name -> value of all that was asked for and found. notes: sentences on what was
    assumed. A value of the wrong type or out of bounds is a Refusal that names the field.
    """

    def __init__(self, values, family, prefix="", used=None, notes=None):
        self.values, self.family, self.prefix = values, family, prefix
        self.used = {} if used is None else used
        self.notes = [] if notes is None else notes
        self.touched = {"model_type"}

    def find(self, word):
        """The file's name for a word and its value; the value is None where the file has none."""
        names = self.family.names.get(word) or NAMES.get(word) or (word,)
        self.touched.update(name for name in names if name in self.values)
        for name in names:
            if self.values.get(name) is not None:
                self.used[self.prefix + name] = self.values[name]
                return self.prefix + name, self.values[name]
        return self.prefix + names[0], None

    def states_no(self, word):
        """Whether the file names the word and says null."""
        names = self.family.names.get(word) or NAMES.get(word) or (word,)
        return self.find(word)[1] is None and any(name in self.values for name in names)

    def number(self, word, default=REQUIRED):
        """A whole number from 0 to 10^8. Without one: the family's default, noted; `default`; or a
        Refusal."""
        name, value = self.find(word)
        if value is None:
            if word in self.family.defaults:
                value = self.family.defaults[word]
                self.notes.append(f"{name} is not in the file; the architecture's {value} is used.")
            elif default is REQUIRED:
                raise Refusal(f"{name} is missing, and this architecture has no default for it.")
            return default if value is None else value
        if isinstance(value, list) and len(value) > 1 and all(one == value[0] for one in value):
            value = value[0]  # one number for each layer, all alike
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Refusal(f"{name} is {shorten(repr(value))}, not a number.")
        if not 0 <= value <= MOST or value != int(value):
            shown = shorten(repr(value))
            raise Refusal(f"{name} is {shown}; it must be a whole number from 0 to {MOST:,}.")
        return int(value)

    def count(self, word, default=REQUIRED):
        """As `number`, but at least 1."""
        value = self.number(word, default)
        if value is not None and value < 1:
            raise Refusal(f"{self.find(word)[0]} is {value}; it must be at least 1.")
        return value

    def layers(self):
        """The number of layers, few enough to be listed."""
        layers = self.count("layers")
        if layers > MOST_LAYERS:
            raise Refusal(f"{layers:,} layers are more than the {MOST_LAYERS:,} that are believed.")
        return layers

    def flag(self, word, default=False):
        """A yes or no."""
        name, value = self.find(word)
        if value is None:
            return self.family.defaults.get(word, default)
        if not isinstance(value, (bool, int)):
            raise Refusal(f"{name} is {shorten(repr(value))}, not true or false.")
        return bool(value)

    def flags(self, word, least):
        """A list with a yes or no for each of so many layers."""
        name, value = self.find(word)
        if not isinstance(value, list) or not all(
            isinstance(entry, (bool, int)) for entry in value
        ):
            raise Refusal(f"{name} is not a list of true and false.")
        if not least <= len(value) <= 2 * MOST_LAYERS:
            raise Refusal(f"{name} has {len(value):,} entries for {least:,} layers.")
        return [bool(entry) for entry in value[:least]]

    def share(self, word, default):
        """A factor above 0 and at most 100, not always whole."""
        name, value = self.find(word)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 100:
            raise Refusal(f"{name} is {shorten(repr(value))}; it must be above 0 and at most 100.")
        return value

    def text(self, word):
        """A word, or None."""
        name, value = self.find(word)
        if value is not None and not isinstance(value, str):
            raise Refusal(f"{name} is {shorten(repr(value))}, not a word.")
        return value

    def table(self, word):
        """An object inside the object, or None."""
        name, value = self.find(word)
        if value is not None and not isinstance(value, dict):
            raise Refusal(f"{name} is {shorten(repr(value))}, not an object.")
        return value

    def entries(self, word, kind, least=0):
        """A list (or a string, taken letter by letter) of at least so many entries of a type."""
        name, value = self.find(word)
        if value is None:
            return None
        if not isinstance(value, (list, str)) or not all(
            isinstance(entry, kind) and not isinstance(entry, bool) for entry in value
        ):
            raise Refusal(f"{name} is not a list of the expected entries.")
        if not least <= len(value) <= 2 * MOST_LAYERS:
            raise Refusal(f"{name} has {len(value):,} entries for {least:,} layers.")
        return value

    def within(self, word):
        """The same reading, one object deeper."""
        table = self.table(word)
        if table is None:
            raise Refusal(f"{self.find(word)[0]} is missing, and it says how layers differ.")
        return Fields(table, self.family, f"{self.find(word)[0]}.", self.used, self.notes)

    def overrides(self, layers):
        """What per_layer_config says of single layers: for each, the fields it changes, sorted.

        Transformers writes the table by a layer's number, as “05”.
        """
        table = self.table("per_layer_config") or {}
        changed = {}
        for number, values in table.items():
            plain = isinstance(values, dict) and all(
                isinstance(v, (int, str)) for v in values.values()
            )
            if not str(number).isdigit() or not plain:
                raise Refusal("per_layer_config is not a table of fields by a layer's number.")
            changed[int(number)] = tuple(sorted(values.items()))
        return [changed.get(layer, ()) for layer in range(layers)]

    def overlaid(self, changes):
        """The same reading with some fields replaced."""
        return self._as({**self.values, **dict(changes)}, self.family)

    def renamed(self, **names):
        """The same reading with other names for some of the planner's words."""
        usual = {**self.family.names}
        return self._as(self.values, replace(self.family, names={**usual, **names}))

    def without(self, **changes):
        """The same reading of an architecture that differs in some of its row."""
        return self._as(self.values, replace(self.family, **changes))

    def _as(self, values, family):
        own = Fields(values, family, self.prefix, self.used, self.notes)
        own.touched = self.touched
        return own

    def left_over(self):
        """The fields that nobody asked for."""
        return tuple(self.prefix + str(name) for name in self.values if name not in self.touched)


def each(fields, word, kind, layers, words):
    """A list with an entry for each layer, put into the planner's words."""
    entries = fields.entries(word, kind, layers)
    strange = next((entry for entry in entries[:layers] if entry not in words), None)
    if strange is not None:
        raise Refusal(f"{word} has an entry {str(strange)[:40]!r} that is not known here.")
    return [words[entry] for entry in entries[:layers]]
