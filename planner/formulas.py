"""The equations: one function each, on plain numbers or NumPy arrays.

Read from top to bottom this is the whole theory. A transformer that writes text stores a key and a
value for every past token (the KV cache), so that a new token costs one token's work. The price is
memory that grows with context and with the number of requests, and a decode step that reads all
weights once and every request's whole cache.

Units: bytes, seconds, bytes per second, FLOPs (a multiply-add is two), FLOPs per second. Symbols in
the docstrings: n tokens of context, B requests, L layers, H query heads, H_kv key-value heads,
d_h width of a head, d width of the model, b bytes per element, W bytes of weights, P parameters.
Every argument may be a number or an array; arrays broadcast as NumPy does. A product that can
outgrow 64 bits begins with a float, since NumPy's integers wrap round in silence.
"""

import numpy as np

# --- the cache in memory ------------------------------------------------------------------------


def kv_bytes_per_token(layers, kv_heads, key_dim, value_dim, key_bytes, value_bytes):
    """Bytes one more token adds to one request's cache: L · H_kv · (d_k · b_k + d_v · b_v).

    With equal widths this is the familiar 2 · L · H_kv · d_h · b (Pope et al. 2022, section 3.3).
    Multi-head attention has H_kv = H, grouped-query fewer (Ainslie et al. 2023), multi-query one
    (Shazeer 2019). Latent attention (DeepSeek-V2) is one head of width rank + rope and no value.
    """
    return layers * kv_heads * (key_dim * key_bytes + value_dim * value_bytes)


def cached_tokens(context_tokens, window):
    """Tokens whose keys and values are kept: min(n, w). A full-attention layer has w = ∞."""
    return np.minimum(context_tokens, window, dtype=float)


def request_cache_bytes(fixed_bytes, bytes_per_token, tokens):
    """Cache of one request: a state that does not grow, plus bytes per token times tokens kept."""
    return fixed_bytes + 1.0 * bytes_per_token * tokens


def layered_cache_bytes(fixed_bytes, bytes_per_token, windows, context_tokens):
    """Cache of one request in a model of several kinds of layers: fixed + Σ p_i · min(n, w_i).

    `bytes_per_token` (p) and `windows` (w, ∞ for full attention) are sequences of equal length.
    """
    kinds = zip(bytes_per_token, windows, strict=True)
    grown = np.zeros_like(context_tokens, dtype=float)  # where nothing grows, still one a context
    return fixed_bytes + sum((p * cached_tokens(context_tokens, w) for p, w in kinds), grown)


def load_cache_bytes(request_bytes, concurrency):
    """Cache of B requests; nothing is shared between them."""
    return 1.0 * request_bytes * concurrency


def memory_needed_bytes(weight_bytes, cache_bytes, reserved_bytes=0):
    """What must be resident at once: weights, the caches of all requests, the engine's own."""
    return weight_bytes + cache_bytes + reserved_bytes


def experts_covered(experts, experts_per_token, tokens):
    """Experts of one layer that B tokens need between them: E · (1 − (1 − k/E)^B).

    Each token draws k of E, every expert as likely as the next. Real prompts favour some experts,
    so this is the most that a step reads, not the mean.
    """
    return experts * (1 - (1 - experts_per_token / experts) ** tokens)


# --- what an engine reserves --------------------------------------------------------------------


def pool_bytes(fraction, device_bytes, taken_before, taken_inside):
    """Cache pool an engine carves out of one device: max(0, f · (M − before) − inside).

    A fraction of the whole device takes nothing off before it (vLLM: weights, activations and the
    rest come out of the budget f · M); a fraction of what is still free takes everything off first
    (TensorRT-LLM, LMDeploy). SGLang lies between: f of what is free before the weights load.
    """
    return np.maximum(fraction * (device_bytes - taken_before) - taken_inside, 0)


def fixed_pool_bytes(given_bytes, device_bytes, taken_bytes):
    """Cache pool of a size set by hand: whole where all else leaves room for it, or none at all.

    An engine that is told its pool asks for just that, and does not start without the room.
    """
    return np.where(taken_bytes + given_bytes <= device_bytes, given_bytes, 0.0)[()]


def activation_bytes(per_width, tokens, width, per_logit, rows, vocabulary, score_bytes=0):
    """Peak of a forward pass on one device: k · t · d + max(m · r · V, score matrix).

    t tokens in one step, d width of the model, r rows of logits, V vocabulary. k holds the widest
    layer's tensors (a gated MLP of 3.5 d needs about 3 · 3.5 + 2 of d, two bytes each: 25), m the
    copies of the logits that sampling makes. Tensor parallelism does not divide it: every rank
    holds whole rows (the same 1.26 GiB at one rank and at two in vllm-project/vllm pull 10511).
    """
    logits = 1.0 * per_logit * rows * vocabulary
    return 1.0 * per_width * tokens * width + np.maximum(logits, score_bytes)


def padded(amount, multiple):
    """Rounded up to a multiple: ⌈a / m⌉ · m."""
    return np.ceil(np.asarray(amount) / multiple) * multiple


def window_blocks(window, batched_tokens, block_tokens):
    """Blocks a sliding layer needs for one request: ⌈(w − 1 + t) / b⌉ + 1.

    The window behind the first of t tokens written in one step, and one block more because the
    window need not start where a block does.
    """
    return np.ceil((window - 1 + np.asarray(batched_tokens)) / block_tokens) + 1


def stretched_block(block_tokens, token_bytes, state_bytes):
    """Tokens in a block whose page holds a recurrent state: ⌈s / p⌉ rounded up to a multiple of b.

    Layers that share one pool need pages of one size, and a state cannot be cut in two.
    """
    return np.maximum(padded(np.asarray(state_bytes) / token_bytes, block_tokens), block_tokens)


# --- operations ---------------------------------------------------------------------------------


def step_multiply_adds_uncached(step, width):
    """Multiply-adds of one attention layer at step t when all t tokens are redone: 4td² + 2t²d.

    Four d × d projections (query, key, value, output) for t tokens, then t × t scores and sums.
    """
    return 4 * step * width**2 + 2 * step**2 * width


def step_multiply_adds_cached(step, width):
    """Multiply-adds of one attention layer at step t for the new token alone: 4d² + 2td."""
    return 4 * width**2 + 2 * step * width


def total_multiply_adds_uncached(steps, width):
    """Steps 1 … T without a cache, summed: 2T(T+1)d² + T(T+1)(2T+1)d/3; leading 2T²d² + ⅔T³d."""
    pairs = 1.0 * steps * (steps + 1)
    return 2 * pairs * width**2 + pairs * (2 * steps + 1) * width / 3


def total_multiply_adds_cached(steps, width):
    """Steps 1 … T with a cache, summed: 4Td² + T(T+1)d; leading terms 4Td² + T²d."""
    return 4 * steps * width**2 + steps * (steps + 1) * width


def leading_multiply_adds_uncached(steps, width):
    """What the sum without a cache tends to: 2T²d² + ⅔T³d. One power of T above the cached one."""
    squares = 1.0 * steps * steps
    return 2 * squares * width**2 + 2 * squares * steps * width / 3


def leading_multiply_adds_cached(steps, width):
    """What the sum with a cache tends to: 4Td² + T²d."""
    return 4 * steps * width**2 + steps**2 * width


def attended_pairs(prompt_tokens, window):
    """Query-key pairs of a causal pass over n tokens where each sees at most w: w' n − w'(w'−1)/2.

    w' = min(n, w). With w = ∞ it is n(n+1)/2: half of the square, since no token looks ahead.
    """
    seen = np.minimum(prompt_tokens, window, dtype=float)
    return seen * prompt_tokens - seen * (seen - 1) / 2


def attention_flops(layers, query_heads, key_dim, value_dim, pairs):
    """FLOPs of scores and weighted sums: 2 · L · H · (d_k + d_v) for every query-key pair."""
    return 2.0 * layers * query_heads * (key_dim + value_dim) * pairs


def projection_flops(active_parameters, tokens):
    """FLOPs of all weight matrices: 2 · P_active for each token (Kaplan et al. 2020, section 2.1).

    P_active leaves out the input embedding, which is looked up and not multiplied.
    """
    return 2.0 * active_parameters * tokens


# --- time ---------------------------------------------------------------------------------------


def read_seconds(read_bytes, bandwidth):
    """Time to stream bytes from the device's memory: bytes / BW."""
    return read_bytes / bandwidth


def compute_seconds(flops, peak_flops):
    """Time of arithmetic at a rate: FLOPs / FLOPs per second."""
    return flops / peak_flops


def decode_step_seconds(weight_bytes, cache_bytes, bandwidth):
    """One token for every request: (W + C) / BW. Weights are read once, each cache once."""
    return (weight_bytes + cache_bytes) / bandwidth


def speculative_seconds(check_seconds, draft_seconds, accepted):
    """Time per token where a step checks guesses and yields τ tokens: (check + all guesses) / τ."""
    return (check_seconds + draft_seconds) / accepted


def time_to_first_token_seconds(prefill_seconds, weight_seconds):
    """max(prefill, W / BW): a short prompt still waits until every weight was read once."""
    return np.maximum(prefill_seconds, weight_seconds)


def tokens_per_second(step_seconds, concurrency=1):
    """Rate of one request (B = 1) or of all: B / step."""
    return concurrency / step_seconds


def arithmetic_intensity(flops, moved_bytes):
    """FLOPs for each byte moved between memory and the processor."""
    return flops / moved_bytes


def attainable_flops(intensity, bandwidth, peak_flops):
    """The roofline, min(I · BW, peak) in FLOPs per second (Williams et al. 2009)."""
    return np.minimum(intensity * bandwidth, peak_flops)


# --- the same equations solved for what one may choose ------------------------------------------


def max_concurrency(memory_bytes, weight_bytes, request_bytes):
    """Most requests that fit: ⌊(M − W) / c⌋; 0 where the weights alone do not, ∞ where c = 0."""
    room = np.asarray(memory_bytes - weight_bytes, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.where(np.equal(request_bytes, 0), np.inf, room / request_bytes)
    return _whole(count, room, lambda requests: load_cache_bytes(request_bytes, requests))


def max_context(memory_bytes, weight_bytes, concurrency, fixed_bytes, bytes_per_token, windows):
    """Longest context n at which B requests fit: fixed + Σ p_i · min(n, w_i) ≤ R = (M − W) / B.

    `bytes_per_token` (p) and `windows` (w, ∞ for full attention) are sequences with one entry per
    kind of layer. A sum of minima is the least of the lines that it bends along (the k smallest
    windows full, the others growing), so the longest n is the greatest of (R − base_k) / slope_k.
    Whole tokens; 0 where not even the fixed part fits, ∞ where no further token costs anything.
    """
    room = (np.asarray(memory_bytes, float) - weight_bytes) / concurrency - fixed_bytes
    layers = sorted(zip(windows, bytes_per_token, strict=True))
    longest = np.zeros_like(room)
    for full in range(len(layers) + 1):
        base = sum(1.0 * p * w for w, p in layers[:full])
        slope = sum(p for w, p in layers[full:])
        if np.isinf(base):  # a layer without a window is never full
            break
        reach = (room - base) / slope if slope else np.where(room >= base, np.inf, 0.0)
        longest = np.maximum(longest, reach)

    def growth(tokens):
        return layered_cache_bytes(0, bytes_per_token, windows, tokens)

    return _whole(longest, room, growth)


def _whole(amount, room, cost):
    """Round down, then let the forward equation decide: rounding must not add or lose one."""
    whole = np.floor(amount)
    with np.errstate(invalid="ignore"):
        whole = np.where(np.isfinite(whole) & (cost(whole + 1) <= room), whole + 1, whole)
        whole = np.where(np.isfinite(whole) & (cost(whole) > room), whole - 1, whole)
    return np.where(room < 0, 0.0, np.maximum(whole, 0.0))[()]


def bandwidth_for_step(weight_bytes, cache_bytes, step_seconds, other_seconds=0.0):
    """Bytes per second needed for a step of that length: (W + C) / (t − other); ∞ for no time."""
    left = np.asarray(step_seconds - other_seconds, float)
    with np.errstate(divide="ignore"):
        return np.where(left > 0, (weight_bytes + cache_bytes) / np.maximum(left, 0), np.inf)[()]


def crossover_context(weight_bytes, concurrency, fixed_bytes, bytes_per_token, windows):
    """Context at which reading the caches takes as long as reading the weights: C(n) = W."""
    return max_context(
        2 * weight_bytes, weight_bytes, concurrency, fixed_bytes, bytes_per_token, windows
    )


# --- time on a real engine ----------------------------------------------------------------------


def limited_read_seconds(read_bytes, bandwidth, efficiency, vector_flops, flops_per_byte):
    """Time to read and unpack: bytes / (η · BW) + v · bytes / R.

    η is the part of the bandwidth that kernels reach. Engines that multiply one vector at a time do
    it on the ordinary arithmetic units of rate R (FP32 FLOPs per second), and v FLOPs for every
    byte: a device with much bandwidth and few such units is held back by them. v = 0 and R = ∞ for
    engines that use the matrix units throughout.
    """
    return read_bytes / (efficiency * bandwidth) + flops_per_byte * read_bytes / vector_flops


def layer_overhead_seconds(layers, seconds_per_layer):
    """Time between kernels, synchronisation and the work too small to fill the device: L · c."""
    return layers * seconds_per_layer


def device_scaled_seconds(seconds, vector_flops, reference_flops):
    """An overhead spent on the device itself shrinks as its units get faster: c · √(R₀ / R)."""
    return seconds * np.sqrt(reference_flops / vector_flops)


def all_reduce_bytes(layers, width, tokens, devices, element_bytes=2):
    """Bytes each device sends when tensor parallel: 2 · L · 2(D − 1)/D · tokens · d · b.

    Two sums over all devices a layer, each a ring (Shoeybi et al. 2019; Patarasuk and Yuan 2009).
    """
    return 4 * layers * (devices - 1) / devices * tokens * width * element_bytes


def pipelined_devices(devices, pieces):
    """Devices that a pipeline of D stages keeps busy with m pieces: D · m / (m + D − 1).

    A layer split works on one piece of the prompt a device; the pipeline fills and drains once
    (Huang et al. 2019). One piece is one device's work; many pieces approach D.
    """
    return devices * pieces / (pieces + devices - 1)


def joined_seconds(reading, arithmetic, overlap):
    """Reading and arithmetic of one operation side by side: (r^p + a^p)^(1/p).

    p = 1: one after the other; p = ∞: the shorter hides behind the longer (the roofline). Matrix
    products at 16 bit lie at 2.3, those that scale or unpack first near 1.
    """
    longer, shorter = np.maximum(reading, arithmetic), np.minimum(reading, arithmetic)
    share = shorter / np.where(longer > 0, longer, 1)
    return longer * (1 + share**overlap) ** (1 / np.asarray(overlap, float))


def tensor_sums_seconds(layers, width, tokens, devices, latency, link):
    """Sums over a tensor-parallel group, two a layer: 2 · L · latency + `all_reduce_bytes` / link.

    latency: of one sum of almost nothing. link: bytes a second, one way. 0 on one device.
    """
    sent = all_reduce_bytes(layers, width, tokens, devices)
    return np.where(np.greater(devices, 1), 2 * layers * latency + sent / link, 0.0)[()]


def prompt_passes(requests, output_tokens, prompt_tokens, pass_tokens):
    """(f, x): in a steady load, part f of the passes carries x tokens of other requests' prompts.

    While one of N requests writes `out` tokens each of the others ends once and a prompt takes its
    place: a = (N − 1) / out a step, each in k = max(1, ⌈in / C⌉) pieces of at most C tokens. A pass
    takes one piece, or more where more arrive: f = min(1, a · k), x = a · in / f.
    """
    arriving = np.maximum(requests - 1, 0) / output_tokens
    pieces = np.maximum(np.ceil(prompt_tokens / pass_tokens), 1)
    part = np.minimum(1.0, arriving * pieces)
    return part, np.where(part > 0, arriving * prompt_tokens / np.where(part > 0, part, 1), 0.0)[()]


def mean_step_seconds(part, alone, shared):
    """Mean step where part f of the passes carries prompts: (1 − f) · t₀ + f · t₁."""
    return (1 - part) * alone + part * shared


def running_requests(asked, held):
    """Requests that run at once, min(N, what the pool holds); the others wait."""
    return np.minimum(asked, held)


def first_token_seconds(interface, steps, step, own, ahead, requests, prompt):
    """Time to first token in a closed loop: interface + s · step + own prompt + q · N · prompt.

    s: steps until the token is seen; the pass under way and what is buffered before it is sent.
    q: the part of N requests whose prompts lie ahead, each of so many seconds where prompts share
    a pass; most of it from the start of a run, when all ask at once.
    """
    return interface + steps * step + own + ahead * requests * prompt


def weighted_offset(residuals, variances, prior_variance):
    """What measured / predicted of like set-ups says of this one, in logarithms: μ.

    Witness i has the residual rᵢ and speaks for this set-up with the variance vᵢ; zero with the
    prior variance τ² is one witness more: μ = Σ rᵢ/vᵢ / (1/τ² + Σ 1/vᵢ). Sums over the last axis.
    """
    precision = 1 / prior_variance + np.sum(1 / variances, axis=-1)
    return np.sum(residuals / variances, axis=-1) / precision


def crossover_concurrency(weight_seconds, compute_seconds_each, cache_seconds_each):
    """Requests at which computing a step takes as long as reading for it: B · f = w + B · c.

    w seconds for the weights, f and c for one request's arithmetic and cache. B = w / (f − c); ∞
    where each request's cache takes longer to read than its token to compute.
    """
    spare = np.asarray(compute_seconds_each - cache_seconds_each, float)
    with np.errstate(divide="ignore"):
        return np.where(spare > 0, weight_seconds / np.maximum(spare, 0.0), np.inf)[()]
