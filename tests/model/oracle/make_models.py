#!/usr/bin/env python3
"""Small Hugging Face models with random weights, and what transformers computes with them.

    tests/model/oracle/make_models.py OUT_DIR       the golden ones are in tests/golden/models

OUT_DIR/FAMILY holds config.json and model.safetensors as save_pretrained writes them, and golden.safetensors:
    input_ids   int64 [3, 17]
    logits      float32 [3, 17, vocabulary]
    logits_f64  the same in double: of transformers for gpt2, of plain_models.py for the others, as transformers computes their norms and
                angles in float whatever it is given
    greedy      int64 [3, 28]: input_ids, then the 11 likeliest continuations
OUT_DIR/llama_sharded holds llama's weights in several files and their index.

Shapes are odd, epsilons large, and every norm and bias is random, so that whatever is left out, transposed or mixed up shows.
"""
import pathlib
import sys

from oracle import Draw, one_thread

SEED = 20
BATCH, LENGTH, CONTINUATION = 3, 17, 11
# Below this, the likeliest token could be another one where sums are taken in another order.
CLEAR_MARGIN = 1e-3

QUIET = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}  # greedy continuations do not end early
SMALL = {"num_hidden_layers": 3, "intermediate_size": 56, "max_position_embeddings": 64, "initializer_range": 0.2} | QUIET


def plain_rotary(theta):
    return {"rope_type": "default", "rope_theta": theta}


def configs():
    import transformers as hf
    # With heads of 10 and this theta one wavelength is kept, one is smoothed and three are stretched.
    llama3_rotary = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 32}
    return {
        "gpt2": hf.GPT2Config(vocab_size=61, n_embd=30, n_head=3, n_layer=3, n_inner=56, n_positions=31, layer_norm_epsilon=1e-3,
                              activation_function="gelu_new", initializer_range=0.2, resid_pdrop=0.0, embd_pdrop=0.0,
                              attn_pdrop=0.0, **QUIET),
        "llama": hf.LlamaConfig(vocab_size=67, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-3,
                                rope_parameters=plain_rotary(10000.0), tie_word_embeddings=False, **SMALL),
        "llama3": hf.LlamaConfig(vocab_size=61, hidden_size=30, num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=1e-3,
                                 rope_parameters=llama3_rotary, tie_word_embeddings=True, **SMALL),
        "olmo": hf.OlmoConfig(vocab_size=67, hidden_size=24, num_attention_heads=3, clip_qkv=None,
                              rope_parameters=plain_rotary(10000.0), tie_word_embeddings=True, **SMALL),
        "olmo2": hf.Olmo2Config(vocab_size=61, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-3,
                                rope_parameters=plain_rotary(500000.0), tie_word_embeddings=False, **SMALL),
        "qwen2": hf.Qwen2Config(vocab_size=67, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-3,
                                rope_parameters=plain_rotary(1000000.0), tie_word_embeddings=True, **SMALL),
        "qwen3": hf.Qwen3Config(vocab_size=61, hidden_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=10,
                                rms_norm_eps=1e-3, rope_parameters=plain_rotary(1000000.0), tie_word_embeddings=False, **SMALL),
    }


def randomize(model, draw):
    """Every parameter, in the order of names: norms around one, biases around zero, and neither trivial."""
    import torch
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            is_scale = parameter.dim() == 1 and name.endswith("weight")
            values = draw.normal(parameter.shape, 0.3 if is_scale else 0.2)
            parameter.copy_(values + 1 if is_scale else values)


def greedy(model, input_ids):
    """The continuation, after making sure that no step of it was a close call."""
    import torch
    out = model.generate(input_ids, attention_mask=torch.ones_like(input_ids), do_sample=False, max_new_tokens=CONTINUATION,
                         output_scores=True, return_dict_in_generate=True)
    first, second = torch.stack(out.scores).topk(2).values.unbind(-1)
    margin = (first - second).min().item()
    if margin < CLEAR_MARGIN:
        raise SystemExit(f"{model.config.model_type}: the two likeliest tokens are {margin:.2g} apart: take another seed")
    return out.sequences


def save_model(model, directory, **options):
    model.save_pretrained(directory, **options)
    (directory / "generation_config.json").unlink()


def make(family, config, seed, out):
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    draw = Draw(seed)
    randomize(model, draw)
    save_model(model, out / family)
    if family == "llama":
        save_model(model, out / "llama_sharded", max_shard_size="50KB")
    input_ids = draw.tokens((BATCH, LENGTH), config.vocab_size)
    with torch.no_grad():
        golden = {"input_ids": input_ids, "logits": model(input_ids).logits, "greedy": greedy(model, input_ids)}
        golden["logits_f64"] = model.double()(input_ids).logits if family == "gpt2" else plain_logits(out / family, input_ids)
    save_file({name: tensor.contiguous() for name, tensor in golden.items()}, out / family / "golden.safetensors")


def plain_logits(directory, input_ids):
    import torch
    from plain_models import forward, load
    weights, config = load(directory, torch.float64)
    return forward(config, weights, input_ids)


def make_all(out):
    import transformers
    transformers.utils.logging.disable_progress_bar()
    one_thread()
    for index, (family, config) in enumerate(configs().items()):
        make(family, config, SEED + index, pathlib.Path(out))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    make_all(sys.argv[1])
