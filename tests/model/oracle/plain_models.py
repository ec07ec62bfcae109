"""GPT-2, Llama and its relatives as a few functions on a dict of tensors with Hugging Face's names: the oracle in double.

    weights, config = load("tests/golden/models/llama", torch.float64)
    logits = forward(config, weights, input_ids)

Everything, norms and rotary angles too, is computed in the dtype of the weights, which transformers does not do: there a double
model has the errors of a float one. Only plain operations are used, none that is fused.
"""
import json
import math
import pathlib

import torch


def load(directory, dtype):
    """The weights of a directory as save_pretrained writes it, in one file or several, and its config."""
    from safetensors.torch import load_file
    directory = pathlib.Path(directory)
    weights = {}
    for path in sorted(directory.glob("model*.safetensors")):
        weights |= load_file(path)
    config = json.loads((directory / "config.json").read_text())
    return {name: tensor.to(dtype) for name, tensor in weights.items()}, config


def forward(config, weights, input_ids):
    """Logits [batch, length, vocabulary]."""
    models = {"gpt2": gpt2} | dict.fromkeys(("llama", "olmo", "olmo2", "qwen2", "qwen3"), llama)
    if config["model_type"] not in models:
        raise ValueError(f"no plain model for {config['model_type']}: there are {', '.join(models)}")
    return models[config["model_type"]](config, weights, input_ids)


def loss(config, weights, tokens):
    """Mean cross-entropy of each token of tokens [batch, length + 1] but the first, given those before it."""
    logits = forward(config, weights, tokens[:, :-1])
    log_probabilities = logits - logits.logsumexp(-1, keepdim=True)
    return -log_probabilities.gather(-1, tokens[:, 1:, None]).mean()


def attention(query, key, value):
    """Causal, of [batch, heads, length, width]; several heads of query may share one of key and value."""
    share = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(share, 1), value.repeat_interleave(share, 1)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -math.inf).softmax(-1) @ value


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(2)


def layer_norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight + bias


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gpt2(config, weights, input_ids):
    epsilon = config["layer_norm_epsilon"]

    def norm(x, name):
        return layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], epsilon)

    def affine(x, name):  # GPT-2 keeps its matrices as [in, out]
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["transformer.wte.weight"][input_ids] + weights["transformer.wpe.weight"][:input_ids.shape[1]]
    for layer in range(config["n_layer"]):
        at = f"transformer.h.{layer}"
        query, key, value = (split_heads(part, config["n_head"]) for part in affine(norm(x, f"{at}.ln_1"), f"{at}.attn.c_attn").chunk(3, -1))
        x = x + affine(join_heads(attention(query, key, value)), f"{at}.attn.c_proj")
        x = x + affine(gelu_new(affine(norm(x, f"{at}.ln_2"), f"{at}.mlp.c_fc")), f"{at}.mlp.c_proj")
    return norm(x, "transformer.ln_f") @ weights["transformer.wte.weight"].T


def rms_norm(x, weight, epsilon):
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight


def llama3_stretched(frequencies, rotary):
    """Long wavelengths are stretched by a factor, short ones kept, and those between are mixed."""
    low, high = rotary["low_freq_factor"], rotary["high_freq_factor"]
    turns = rotary["original_max_position_embeddings"] * frequencies / (2 * math.pi)  # within the original context
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies * (kept + (1 - kept) / rotary["factor"])


def rotary_angles(config, width, length, dtype):
    """Angles [length, width / 2]."""
    rotary = config["rope_parameters"]
    frequencies = rotary["rope_theta"] ** (-torch.arange(0, width, 2, dtype=dtype) / width)
    if rotary["rope_type"] == "llama3":
        frequencies = llama3_stretched(frequencies, rotary)
    elif rotary["rope_type"] != "default":
        raise ValueError(f"no plain rotary embedding of type {rotary['rope_type']}")
    return torch.arange(length, dtype=dtype)[:, None] * frequencies


def rotate(x, angles):
    """Number i of the first half of a head and number i of its second are a point in the plane."""
    first, second = x.chunk(2, -1)
    cosine, sine = angles.cos(), angles.sin()
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


def llama(config, weights, input_ids):
    """And those like it: OLMo's norms have no weights, OLMo 2's follow what they normalize, Qwen 3's are in each head."""
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    norms_follow, norms_in_heads = config["model_type"] == "olmo2", config["model_type"] == "qwen3"

    def norm(x, name):
        if f"{name}.weight" in weights:
            return rms_norm(x, weights[f"{name}.weight"], config["rms_norm_eps"])
        return layer_norm(x, 1, 0, 1e-5) if config["model_type"] == "olmo" else x

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0)

    def before(x, name):
        return x if norms_follow else norm(x, name)

    def after(x, name):
        return norm(x, name) if norms_follow else x

    def placed(x, at, name, count):
        x = linear(x, f"{at}.{name}_proj")
        x = norm(split_heads(x, count), f"{at}.{name}_norm") if norms_in_heads else split_heads(normed_width(x, f"{at}.{name}_norm"), count)
        return rotate(x, angles)

    def normed_width(x, name):
        return norm(x, name) if norms_follow else x

    x = weights["model.embed_tokens.weight"][input_ids]
    width = config.get("head_dim") or config["hidden_size"] // heads
    angles = rotary_angles(config, width, input_ids.shape[1], x.dtype)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        h = before(x, f"{at}.input_layernorm")
        query, key = placed(h, f"{at}.self_attn", "q", heads), placed(h, f"{at}.self_attn", "k", shared)
        value = split_heads(linear(h, f"{at}.self_attn.v_proj"), shared)
        x = x + after(linear(join_heads(attention(query, key, value)), f"{at}.self_attn.o_proj"), f"{at}.post_attention_layernorm")
        h = before(x, f"{at}.post_attention_layernorm")
        gate = linear(h, f"{at}.mlp.gate_proj")
        x = x + after(linear(gate * gate.sigmoid() * linear(h, f"{at}.mlp.up_proj"), f"{at}.mlp.down_proj"),
                      f"{at}.post_feedforward_layernorm")
    head = "model.embed_tokens" if config["tie_word_embeddings"] else "lm_head"
    return linear(norm(x, "model.norm"), head)
