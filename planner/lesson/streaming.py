"""Slower as it talks: how fast text streams at a context, beside how fast people read."""

import numpy as np
import pandas as pd

from planner.inputs.scenario import Scenario
from planner.plan import plan

LESSON_CONTEXTS = (1_000, 8_192, 32_000)

# Mean of adults reading English non-fiction in silence, and the share of a word that a token is in
# English text.
READING_WORDS_PER_MINUTE = 238
READING_SOURCE = "brysbaert-2019"
WORDS_PER_TOKEN = 0.75  # a rule of thumb; languages and tokenisers differ
READING_TOKENS_PER_SECOND = READING_WORDS_PER_MINUTE / 60 / WORDS_PER_TOKEN

TEXT = (
    "Each word you see here stands for one step of the model. In that step the device reads every "
    "weight once, and then the keys and values of all that was said before. The weights stay the "
    "same size from the first word to the last. The cache does not: it grows with every token, so "
    "the same device needs a little longer each time. In a short chat nobody notices. After a long "
    "document the reading of the cache takes as long as the reading of the weights, and the text "
    "comes at half the speed. Share key and value heads, and the cache shrinks to a quarter; the "
    "words keep coming nearly as fast as at the start."
)


def speeds(scenario: Scenario, contexts=LESSON_CONTEXTS) -> pd.DataFrame:
    """Streaming speed of the scenario's model and its counterpart, at its concurrency.

    Columns: `model`, `attention` (MHA, GQA …), `context_tokens`, `step_s`, `tokens_per_s`,
    `times_reading` (1 is a reader's own pace). MHA beside GQA for the lesson's models.
    """
    tables = []
    for model in (scenario.the_model, scenario.the_model.counterpart()):
        at = plan(scenario, model=model, context=np.array(contexts, float))
        table = {
            "model": model.name,
            "attention": model.attention,
            "context_tokens": contexts,
            "step_s": at.decode_step_s,
            "tokens_per_s": at.tokens_per_s_per_request,
            "times_reading": at.tokens_per_s_per_request / READING_TOKENS_PER_SECOND,
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


def pieces(text=TEXT):
    """The text in parts to show one after another, each about one token: words, spaces kept.

    A word counts for 1 / WORDS_PER_TOKEN tokens, so show one every 1 / (rate · WORDS_PER_TOKEN) s.
    """
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]
