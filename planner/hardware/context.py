"""Decode context parallelism: tensor-parallel devices that would store the same heads share tokens.

Past the number of key-value heads tensor parallelism stores heads again and again; a latent is
whole on every device. Each of so many devices then keeps its part of the tokens instead.
Source: https://docs.vllm.ai/en/latest/serving/context_parallel_deployment/
"""


def shared(pairs, devices):
    """Pairs of bytes per token and most tokens, of one of so many devices that share the tokens."""
    return tuple((each / devices, most) for each, most in pairs)


def refusal(groups, tensor, context):
    """Why so many devices of a tensor group cannot share a request's tokens; “” where they can.

    As vLLM has it: only devices that would store the same heads twice, and only layers that keep
    the whole text.
    """
    if context == 1:
        return ""
    heads = max(group.kv_heads for group in groups)
    most = tensor // max(heads, 1)
    if any(group.window or group.state_bytes or group.stride > 1 for group in groups):
        return "tokens are shared out only where every layer keeps the whole text"
    if context > most:
        return f"with {heads} KV heads on {tensor} devices at most {max(most, 1)} store the same"
    return f"{tensor} devices cannot be parted by {context}" if tensor % context else ""
