# The lesson's arithmetic. Run it, then change the numbers to those of your own model.


def multiply_adds(steps, width, cache):
    """Multiply-adds of one attention layer that writes `steps` tokens."""
    total = 0
    for step in range(1, steps + 1):
        tokens = 1 if cache else step  # those that this step processes
        projections = 4 * tokens * width**2  # query, key, value, output
        attention = 2 * tokens * step * width  # scores against keys, sums of values
        total += projections + attention
    return total


def cache_bytes(layers, kv_heads, head_dim, tokens, requests=1, bytes_each=2):
    """A key and a value for every token, in every layer and key-value head."""
    return 2 * layers * kv_heads * head_dim * tokens * requests * bytes_each


def step_ms(weight_bytes, cache, bandwidth):
    """A decode step reads all weights and the whole cache."""
    return 1000 * (weight_bytes + cache) / bandwidth


for width, steps in (4, 3), (128, 1000):
    without = multiply_adds(steps, width, cache=False)
    cached = multiply_adds(steps, width, cache=True)
    print(f"width {width}, {steps} tokens: {without:,} without, {cached:,} with a cache,")
    print(f"    {without / cached:.2f} times")

print(f"a token of a 7B model, MHA: {cache_bytes(32, 32, 128, 1):,} bytes")
for name, kv_heads in ("MHA", 32), ("GQA", 8):
    for tokens, requests in (8192, 1), (8192, 16), (128_000, 1):
        cache = cache_bytes(32, kv_heads, 128, tokens, requests)
        print(f"{name}, {tokens:,} tokens × {requests}: {cache / 1e9:.2f} GB")

for name, kv_heads in ("MHA", 32), ("GQA", 8):
    for tokens in 1000, 8192, 32_000:
        ms = step_ms(14e9, cache_bytes(32, kv_heads, 128, tokens), 1e12)
        print(f"{name} after {tokens:,} tokens: {ms:.1f} ms, {1000 / ms:.1f} tokens/s")
