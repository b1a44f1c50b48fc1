"""The proof: cached steps equal a full pass, each mistake shows, and PyTorch agrees."""

import numpy as np
import pytest

from planner.lesson import attention, stored
from planner.lesson.attention import MISTAKES, Shape, prove

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_cached_steps_equal_a_full_pass(seed):
    single, double = prove(seed=seed), prove(seed=seed, precision="float64")
    half = prove(seed=seed, precision="float16")
    assert half.full.dtype == np.float16
    assert single.full.dtype == np.float32
    assert double.full.dtype == np.float64
    assert half.full.shape == single.full.shape == (12, len(attention.VOCABULARY))
    assert half.largest < 2e-2
    assert single.largest < 5e-6
    assert double.largest < 1e-14
    assert half.same_word == single.same_word == double.same_word == 12


@pytest.mark.parametrize("kv_heads", [1, 2, 4, 8])
@pytest.mark.parametrize(("prompt", "steps"), [(1, 1), (1, 30), (30, 1)])
def test_any_split_and_any_sharing_is_exact(kv_heads, prompt, steps):
    proof = prove(Shape(kv_heads=kv_heads), prompt, steps, precision="float64")
    assert len(proof.full) == prompt + steps
    assert proof.largest < 1e-13


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("precision", attention.PRECISIONS)
def test_each_mistake_shows(mistake, precision):
    """Ten times and more what rounding leaves in 16 bits, whatever the seed; in 32 bits 10⁵."""
    for seed in SEEDS:
        assert prove(seed=seed, precision=precision, mistake=mistake).largest > 0.2


def test_halves_are_added_up_in_32_bits():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((40, 40)).astype(np.float16) for _ in range(2))
    exact = a.astype(float) @ b.astype(float)
    found = attention.product(a, b)
    assert found.dtype == np.float16
    # Off by one rounding to 16 bits and no more, however long the sum.
    step = np.spacing(np.abs(found)).astype(float)
    assert (np.abs(found - exact) <= step / 2 + 1e-5).all()


def test_where_each_mistake_shows():
    prompt, steps = slice(0, 8), slice(8, 12)
    for mistake in ("rotate_again", "wrong_slot"):  # nothing is read from the cache in prefill
        wrong = prove(mistake=mistake).by_position
        assert wrong[prompt].max() < 5e-6
        assert wrong[steps].min() > 0.1
    for mistake in ("no_mask", "wrong_heads"):
        assert prove(mistake=mistake).by_position[:7].min() > 0.1


def test_mistakes_that_cannot_show():
    """With one layer only the prompt's own rows suffer from a lost mask, not what is cached; and
    with one key-value head, or one for each query head, there is one way to share."""
    lost = prove(Shape(layers=1), mistake="no_mask").by_position
    assert lost[:7].min() > 0.1
    assert lost[7:].max() < 5e-6  # the last prompt token sees everything with and without a mask
    for kv_heads in (1, 8):
        assert prove(Shape(kv_heads=kv_heads), mistake="wrong_heads").largest < 5e-6


def test_the_past_does_not_depend_on_the_future():
    short, long = prove(steps=1, precision="float64"), prove(steps=4, precision="float64")
    assert np.allclose(short.full[:9], long.full[:9], atol=1e-14)


def test_same_seed_same_numbers():
    assert np.array_equal(prove(seed=7).full, prove(seed=7).full)
    assert not np.array_equal(prove(seed=7).full, prove(seed=8).full)


def test_tables():
    table = prove(mistake="wrong_slot").table()
    assert table["position"].tolist() == list(range(1, 13))
    assert table["phase"].tolist() == ["prefill"] * 8 + ["decode"] * 4
    assert table.query("phase == 'prefill'")["difference"].max() < 5e-6
    every = attention.differences(seed=1).set_index(["mistake", "precision"])["largest"]
    assert len(every) == 15
    assert every["", "float64"] < every["", "float32"] < 5e-6
    assert every["", "float16"] < 2e-2
    assert every.drop(index="", level="mistake").min() > 0.1
    assert every["no_mask", "float32"] == prove(seed=1, mistake="no_mask").largest


def test_refusals():
    with pytest.raises(ValueError, match="multiple"):
        Shape(query_heads=8, kv_heads=3)
    with pytest.raises(ValueError, match="even"):
        Shape(head_dim=5)
    with pytest.raises(ValueError, match="at least 1"):
        Shape(layers=0)
    with pytest.raises(ValueError, match="float8"):
        prove(precision="float8")
    with pytest.raises(ValueError, match="mistake"):
        prove(mistake="forget")
    with pytest.raises(ValueError, match="at least one"):
        prove(prompt_tokens=0)


def test_attention_against_loops():
    """Softmax attention written out with loops over plain numbers."""
    rng = np.random.default_rng(1)
    queries, keys, values = (rng.standard_normal((h, 5, 4)) for h in (6, 2, 2))
    positions = np.arange(5)
    found = attention.attend(queries, keys, values, attention.causal_mask(positions, positions))
    for head in range(6):
        for i in range(5):
            scores = [queries[head, i] @ keys[head // 3, j] / 2 for j in range(i + 1)]
            raised = [np.exp(score) for score in scores]
            expected = sum(r * values[head // 3, j] for j, r in enumerate(raised)) / sum(raised)
            assert np.allclose(found[head, i], expected)


def test_rotation_keeps_length_and_tells_distance():
    rng = np.random.default_rng(2)
    query, key = rng.standard_normal((2, 1, 1, 16))

    def at(x, position):
        return attention.rotate(x, [position])

    assert np.linalg.norm(at(query, 1000)) == pytest.approx(np.linalg.norm(query))
    near = (at(query, 9) * at(key, 4)).sum()
    far = (at(query, 1009) * at(key, 1004)).sum()
    assert near == pytest.approx(far)
    assert near != pytest.approx((at(query, 9) * at(key, 5)).sum())


@pytest.mark.parametrize("kv_heads", [1, 2, 8])
@pytest.mark.parametrize("mode", ["full pass", "one step"])
def test_attention_against_pytorch(kv_heads, mode):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    tokens = 12
    new = np.arange(tokens) if mode == "full pass" else np.array([tokens - 1])
    queries = rng.standard_normal((8, len(new), 16))
    keys, values = rng.standard_normal((2, kv_heads, tokens, 16))
    mask = attention.causal_mask(new, np.arange(tokens))
    ours = attention.attend(queries, keys, values, mask)
    share = 8 // kv_heads
    theirs = torch.nn.functional.scaled_dot_product_attention(
        torch.from_numpy(queries)[None],
        torch.from_numpy(keys).repeat_interleave(share, dim=0)[None],
        torch.from_numpy(values).repeat_interleave(share, dim=0)[None],
        is_causal=mode == "full pass",
    )
    assert np.abs(ours - theirs[0].numpy()).max() < 1e-14


def test_whole_decoder_against_pytorch():
    """All layers once more with PyTorch's own norm and attention, rotation by complex numbers."""
    torch = pytest.importorskip("torch")
    shape, tokens = Shape(), 12
    rng = np.random.default_rng(0)
    decoder = attention.Decoder(shape, rng, np.float64)
    x = torch.from_numpy(decoder.words[[attention.VOCABULARY.index(w) for w in attention.SENTENCE]])

    half = shape.head_dim // 2
    angle = torch.outer(
        torch.arange(tokens).double(), 10_000.0 ** (-torch.arange(half).double() / half)
    )
    turn = torch.polar(torch.ones_like(angle), angle)

    def heads(rows, rotated):
        split = rows.reshape(tokens, -1, shape.head_dim).transpose(0, 1)
        if not rotated:
            return split
        turned = torch.complex(split[..., :half].contiguous(), split[..., half:].contiguous())
        turned = turned * turn
        return torch.cat([turned.real, turned.imag], dim=-1)

    for layer in decoder.layers:
        weights = {name: torch.from_numpy(value) for name, value in layer.items()}
        normed = torch.nn.functional.rms_norm(x, (shape.width,), eps=attention.NORM_FLOOR)
        share = shape.query_heads // shape.kv_heads
        mixed = torch.nn.functional.scaled_dot_product_attention(
            heads(normed @ weights["query"], True)[None],
            heads(normed @ weights["key"], True).repeat_interleave(share, 0)[None],
            heads(normed @ weights["value"], False).repeat_interleave(share, 0)[None],
            is_causal=True,
        )[0]
        x = x + mixed.transpose(0, 1).reshape(tokens, -1) @ weights["out"]
    expected = torch.nn.functional.rms_norm(x, (shape.width,), eps=attention.NORM_FLOOR)
    expected = expected @ torch.from_numpy(decoder.scores)
    proof = prove(seed=0, precision="float64")
    assert np.abs(proof.cached - expected.numpy()).max() < 1e-13


# --- the grid of what is stored -----------------------------------------------------------------


def test_grid_with_a_cache():
    table = stored.grid(prompt_tokens=3, step=2, total_tokens=5)
    count = table["state"].value_counts().to_dict()
    # Row 4 is new (4 pairs); rows 1-3 are done (6); above the diagonal of the first four (6).
    assert count == {stored.NEW: 4, stored.DONE: 6, stored.UNSEEN: 6, stored.EMPTY: 9}
    assert table.query("state == @stored.NEW")["query"].unique().tolist() == [4]
    sums = table.groupby("query")["weight"].sum()
    assert np.allclose(sums[:4], 1)


def test_grid_without_a_cache_works_all_rows_again():
    table = stored.grid(prompt_tokens=3, step=2, total_tokens=5, cached=False)
    count = table["state"].value_counts().to_dict()
    assert count == {stored.NEW: 4, stored.AGAIN: 6, stored.UNSEEN: 6, stored.EMPTY: 9}


def test_weights_of_a_row_never_change():
    earlier = stored.grid(3, 1, 6).dropna().set_index(["query", "key"])["weight"]
    later = stored.grid(3, 4, 6).dropna().set_index(["query", "key"])["weight"]
    assert earlier.equals(later[earlier.index])


def test_vectors():
    first = stored.vectors(prompt_tokens=3, step=1)
    assert set(first["state"]) == {stored.NEW}
    third = stored.vectors(prompt_tokens=3, step=3).set_index(["position", "vector"])["state"]
    assert third[5, "query"] == third[5, "key"] == third[5, "value"] == stored.NEW
    assert third[4, "key"] == third[4, "value"] == stored.READ
    assert third[4, "query"] == stored.GONE
    again = stored.vectors(prompt_tokens=3, step=3, cached=False)["state"]
    assert (again == stored.AGAIN).sum() == 12


def test_later_reads_say_why_the_query_is_not_kept():
    reads = stored.later_reads(4).pivot(index="position", columns="vector", values="reads")
    assert reads["query"].tolist() == [0, 0, 0, 0]
    assert reads["key"].tolist() == reads["value"].tolist() == [3, 2, 1, 0]


def test_work_adds_up():
    table = stored.work(prompt_tokens=8, new_tokens=5)
    with_cache = table.query("cache == 'with a cache'")
    without = table.query("cache == 'without a cache'")
    assert with_cache["computed"].tolist() == [8, 1, 1, 1, 1]
    assert with_cache["read"].tolist() == [0, 8, 9, 10, 11]
    assert without["computed"].tolist() == [8, 9, 10, 11, 12]
    assert without["read"].sum() == 0
