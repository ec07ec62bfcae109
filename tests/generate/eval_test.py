#!/usr/bin/env python3
"""What `shoal eval` says of a model is what transformers says of it: log-likelihoods, choices, and the loss over tokens."""
import json
import math
import os
import pathlib
import random
import string
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "model" / "oracle"))
from oracle import GOLDEN, SKIPPED, missing, one_thread  # noqa: E402
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from shards import share_of  # noqa: E402

SHOAL = pathlib.Path(os.environ["SHOAL_BINARY_DIR"]) / "shoal"
FAMILIES = ("gpt2", "llama", "qwen3")  # learned positions in a short context, rotary, norms of queries and keys
LETTERS = string.ascii_letters + " .,!?\n'-"  # 60: an id of each is below every golden model's vocabulary
LIKELIHOOD = 1e-4
LOSS = 1e-5


def shoal(*arguments):
    done = subprocess.run([SHOAL, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: shoal {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


class Characters:
    """The tokenizer that `shoal tokenizer train --kind character` makes: ids in the order of code points."""

    def __init__(self, scratch):
        (scratch / "letters").write_text(LETTERS)
        shoal("tokenizer", "train", "--kind", "character", "--output", scratch / "characters", scratch / "letters")
        self.path = scratch / "characters"
        self.ids = {letter: number for number, letter in enumerate(sorted(set(LETTERS)))}

    def encode(self, text):
        return [self.ids[letter] for letter in text]


def words(draw, count):
    return " ".join("".join(draw.choice(string.ascii_letters) for _ in range(draw.randint(1, 7))) for _ in range(count))


def make_items(draw):
    items = []
    for number in range(23):
        context = words(draw, draw.randint(1, 14))  # some are longer than gpt2's 31 tokens
        endings = [words(draw, draw.randint(1, 3)) for _ in range(draw.choice([2, 4, 5]))]
        item = {"ctx": context, "endings": endings, "label": draw.randrange(len(endings))}
        if number % 3 == 1:
            item = {"query": context + " ", "choices": endings, "gold": item["label"]}  # the space is there already
        if number % 3 == 2:
            item = {"context": context, "choices": [" " + ending for ending in endings], "label": str(item["label"])}
        items.append(item)
    return items


def log_likelihood(model, context, ending, limit):
    import torch
    ids = (context + ending)[-(limit + 1):]
    with torch.no_grad():
        logs = model(torch.tensor([ids[:-1]])).logits[0].double().log_softmax(-1)
    places = range(len(ids) - 1 - len(ending), len(ids) - 1)
    return sum(logs[place, ids[place + 1]].item() for place in places)


def argmax(values):
    return max(range(len(values)), key=values.__getitem__)


def check_choices(family, model, characters, scratch):
    items = make_items(random.Random(family))
    (scratch / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    report = json.loads(shoal("eval", GOLDEN / "models" / family, "--choices", scratch / "items.jsonl", "--tokenizer", characters.path,
                              "--details", scratch / "details.jsonl", "--json"))["choices"]
    details = [json.loads(line) for line in (scratch / "details.jsonl").read_text().splitlines()]
    lines, worst, right, right_by_bytes = [], 0.0, 0, 0
    for number, (item, ours) in enumerate(zip(items, details, strict=True)):
        context = (item.get("ctx") or item.get("query") or item.get("context")).rstrip()
        endings = item.get("endings") or item.get("choices")
        label = int(item.get("label", item.get("gold")))
        wanted = [log_likelihood(model, characters.encode(context), characters.encode(" " + ending.lstrip()),
                                 model.config.max_position_embeddings) for ending in endings]
        worst = max([worst] + [abs(a - b) for a, b in zip(wanted, ours["log_likelihoods"], strict=True)])
        chosen, by_bytes = argmax(wanted), argmax([one / len(ending.encode()) for one, ending in zip(wanted, endings, strict=True)])
        if (ours["label"], ours["chosen"], ours["chosen_by_bytes"]) != (label, chosen, by_bytes):
            lines.append(f"{family}: item {number}: {ours}, wanted {chosen} and {by_bytes}")
        right += chosen == label
        right_by_bytes += by_bytes == label
    print(f"{family}: {len(items)} items, log-likelihoods at most {worst:.2g} apart, {right} and {right_by_bytes} right")
    if not worst <= LIKELIHOOD:
        lines.append(f"{family}: a log-likelihood is {worst:.3g} away")
    if report != {"items": len(items), "accuracy": right / len(items), "accuracy by bytes": right_by_bytes / len(items)}:
        lines.append(f"{family}: {report}")
    return lines


def document_losses(model, ids, ends, length):
    """Sums of cross-entropies of each sample, with documents seen by all that follow, and by themselves alone."""
    import torch
    joined, separate, targets = 0.0, 0.0, 0
    for first in range(0, len(ids) - length, length):
        sample = ids[first:first + length + 1]
        cuts = [0] + [end - first for end in ends if first < end < first + length] + [length]
        with torch.no_grad():
            whole = model(torch.tensor([sample[:-1]])).logits[0]
            parts = torch.cat([model(torch.tensor([sample[a:b]])).logits[0] for a, b in zip(cuts, cuts[1:])])
        wanted = torch.tensor(sample[1:])
        joined += torch.nn.functional.cross_entropy(whole.double(), wanted, reduction="sum").item()
        separate += torch.nn.functional.cross_entropy(parts.double(), wanted, reduction="sum").item()
        targets += length
    return joined, separate, targets


def check_data(family, model, characters, scratch):
    draw = random.Random(family)
    documents = [words(draw, draw.randint(1, 30)) for _ in range(19)]
    (scratch / "text.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    shoal("prepare", "--input", scratch / "text.jsonl", "--tokenizer", characters.path, "--output", scratch / family, "--validation", "none")
    ids, ends = [], []
    for text in documents:
        ids += characters.encode(text)
        ends.append(len(ids))
    lines = []
    length = 23
    joined, separate, targets = document_losses(model, ids, ends, length)
    for flags, total in (((), separate), (("--join-documents",), joined), (("--join-documents", "--batch", "3"), joined)):
        report = json.loads(shoal("eval", GOLDEN / "models" / family, "--data", scratch / family, "--split", "train", "--sequence-length",
                                  length, "--json", *flags))["data"]
        apart = abs(report["loss"] - total / targets)
        print(f"{family}: {targets} targets, loss {report['loss']:.6f}, {apart:.2g} away {' '.join(flags)}")
        if report["targets"] != targets or not apart <= LOSS:
            lines.append(f"{family} {flags}: {report}, wanted a loss of {total / targets} over {targets}")
        if not math.isclose(report["perplexity"], math.exp(report["loss"]), rel_tol=1e-12):
            lines.append(f"{family} {flags}: {report}")
    if abs(joined - separate) / targets < 100 * LOSS:
        lines.append(f"{family}: these documents do not tell the two ways apart")
    return lines


def main():
    if reason := missing("torch", "transformers"):
        print(f"skipped: {reason}")
        return SKIPPED
    import transformers
    transformers.utils.logging.disable_progress_bar()
    one_thread()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        characters = Characters(scratch)
        for family in share_of(FAMILIES):
            model = transformers.AutoModelForCausalLM.from_pretrained(GOLDEN / "models" / family, attn_implementation="eager").float().eval()
            lines += check_choices(family, model, characters, scratch) + check_data(family, model, characters, scratch)
    for line in lines:
        print(f"FAILED: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
