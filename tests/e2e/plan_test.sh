#!/bin/bash
# `shoal plan`: what it counts, and why it refuses. What it prints is compared with its pages by tests/docs.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$SHOAL_SOURCE_DIR"

config=configs/debug_cpu.yaml
vocabulary='--set model.vocab_size=101'
expect_exit 2 "$shoal" plan program $config
expect_text "$scratch/err" 'model.vocab_size is auto'
# shellcheck disable=SC2086
expect_exit 2 "$shoal" plan program $config $vocabulary --ranks 2 --rank 2
expect_text "$scratch/err" 'rank 2 of 2 ranks: the last one is 1'
# shellcheck disable=SC2086
expect_exit 2 "$shoal" plan program $config $vocabulary --ranks 5 --set parallel.tp=2
expect_text "$scratch/err" 'does not divide 5 ranks'
# shellcheck disable=SC2086
expect_exit 2 "$shoal" plan program $config $vocabulary --ranks 4 --set parallel.pp=9
expect_exit 2 "$shoal" plan program nowhere.yaml
expect_text "$scratch/err" 'nowhere.yaml'
# shellcheck disable=SC2086
expect_exit 0 "$shoal" plan check $config $vocabulary --ranks 8 --set parallel.pp=2 --set parallel.tp=2
expect_text "$scratch/out" 'pp 2 x .* = 8 ranks: proven'

# The model whose weights training begins with is the one that is planned.
mkdir "$scratch/hf"
cat >"$scratch/hf/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 24, "intermediate_size": 52, "num_hidden_layers": 2, "num_attention_heads": 3,
 "num_key_value_heads": 1, "vocab_size": 101, "max_position_embeddings": 17, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
 "hidden_act": "silu", "tie_word_embeddings": false}
JSON
expect_exit 0 "$shoal" plan counts $config --set "train.init_from=$scratch/hf" --json
expect_text "$scratch/out" '"parameters": 15528,'  # 2 x 101 x 24, 2 blocks of 1536 + 3744 + 48, and 24
expect_exit 3 "$shoal" plan $config --set "train.init_from=$scratch/nowhere"
expect_text "$scratch/err" 'must be scratch, resume or a Hugging Face directory'

# What a GPU must have: tensors, and beside them a context, three communicators (pipeline of two, tensors of two, all four; data ranks are
# alone) and what the allocator reserves.
# shellcheck disable=SC2086
expect_exit 0 "$shoal" plan $config $vocabulary --ranks 4 --set parallel.pp=2 --set parallel.tp=2 --json
/usr/bin/python3 - "$scratch/out" <<'PYTHON' || fail 'the memory of a layout does not add up'
import json, sys
found = json.load(open(sys.argv[1]))
memory, device = found["memory"], found["device"]
assert found["layout"]["mesh"].endswith("= 4 ranks"), found
assert memory["peak_bytes"] == sum(memory.values()) - memory["peak_bytes"], memory
assert device["communicators"] == 3 and device["communicators_bytes"] == (544 + 544 + 688) * 10**6, device
assert device["total_bytes"] == memory["peak_bytes"] + device["context_bytes"] + device["communicators_bytes"] + device["kernels_bytes"] + device["allocator_bytes"], found
assert device["kernels_bytes"] > 0, "attention in fp32 is not fused on a GPU"
assert 0.09 < device["allocator_bytes"] / memory["peak_bytes"] < 0.1, found
PYTHON
# shellcheck disable=SC2086
expect_exit 0 "$shoal" plan $config $vocabulary
expect_text "$scratch/out" '^  communicators +0$'
expect_text "$scratch/out" '^  peak_operation +[0-9]+  (forward|backward) [a-z]+'


# The time of a step, on a cluster from a file.
expect_exit 0 "$shoal" plan configs/llama3_8b.yaml --ranks 16 --set train.batch=32 --set train.micro_batch=1 --set parallel.tp=2 --cluster clusters/h100.yaml
expect_text "$scratch/out" '^  device +H100-80GB-SXM$'
expect_text "$scratch/out" '^  mfu +[0-9.]+ %$'
expect_text "$scratch/out" '^  calls of the tensor group +[0-9.]+ %$'
printf 'device: {bf16_tflop: 989}\nnode: {gb_per_s: -1}\n' >"$scratch/cluster.yaml"
expect_exit 2 "$shoal" plan configs/llama3_8b.yaml --ranks 16 --set train.batch=32 --cluster "$scratch/cluster.yaml"
expect_text "$scratch/err" 'bf16_tflop'
expect_text "$scratch/err" 'node.gb_per_s'
expect_exit 2 "$shoal" plan configs/llama3_8b.yaml --ranks 16 --set train.batch=32 --cluster nowhere.yaml
expect_text "$scratch/err" 'nowhere.yaml'

# A search writes a config that the planner takes, and says why.
expect_exit 0 "$shoal" plan search configs/llama3_8b.yaml --set train.batch=64 --gpus 16 --cluster clusters/h100.yaml --write "$scratch/best.yaml"
expect_text "$scratch/out" '^The training state takes 134.62 GiB'
expect_text "$scratch/out" '^A step is [0-9]+ % products, '
expect_text "$scratch/out" '^Next comes '
expect_exit 0 "$shoal" plan "$scratch/best.yaml" --ranks 16 --cluster clusters/h100.yaml
expect_exit 0 "$shoal" plan search configs/llama3_8b.yaml --set train.batch=64 --gpus 16 --cluster clusters/h100.yaml --json
/usr/bin/python3 -c 'import json, sys; best = json.load(open(sys.argv[1]))["best"]; assert best["1"]["step.seconds"] > 0 and best["1"]["sharding"], best' "$scratch/out" || fail 'no best layout'
# A model that contradicts itself is refused, and what would change the choice is in the JSON, too.
expect_exit 2 "$shoal" plan search configs/llama3_8b.yaml --set model.heads=4 --gpus 16 --cluster clusters/h100.yaml
expect_text "$scratch/err" 'this config cannot be run on any layout'
expect_exit 0 "$shoal" plan search configs/gpt2_124m.yaml --set model.vocab_size=50257 --set train.batch=64 --gpus 4 --cluster clusters/h100.yaml --what-if --json
/usr/bin/python3 -c 'import json, sys; found = json.load(open(sys.argv[1])); assert "what_if" in found and found["search"]["too_large_at_least"] >= 0, found' "$scratch/out" || fail 'no what-if in the JSON'
expect_exit 2 "$shoal" plan search configs/llama3_405b.yaml --gpus 8 --cluster clusters/h100.yaml
expect_text "$scratch/err" 'none of [0-9]+ layouts fits 8 devices of 84.97 GB'

# Counts, and the formulas of courses beside them.
large='--set model.layers=80 --set model.width=8192 --set model.heads=64 --set model.context=4096 --set model.vocab_size=50280 --set train.batch=256'
# shellcheck disable=SC2086
expect_exit 0 "$shoal" plan counts $config $large --json
/usr/bin/python3 - "$scratch/out" <<'PYTHON' || fail 'counts are not what they were'
import json, sys
found = json.load(open(sys.argv[1]))
course = found["course"]
assert course["parameters"] == 65_288_471_656 and course["bytes"] == 14 * course["parameters"], course
assert course["a100_40gb"] == 23 and course["h100_80gb"] == 12, course
assert found["parameters"] == found["embedding"] + found["blocks"] + found["head"] == 64_878_493_696, found
PYTHON
expect_exit 0 "$shoal" plan counts configs/llama3_405b.yaml
expect_text "$scratch/out" '^  parameters +405\.9G$'
expect_exit 2 "$shoal" plan chekc $config
expect_text "$scratch/err" "did you mean 'check'"
expect_exit 0 "$shoal" plan --help
expect_text "$scratch/out" 'shoal plan program'

# Predictions beside published measurements; tests/score has the limits.
expect_exit 0 "$shoal" plan validate
expect_text "$scratch/out" '^smxB, peak of the worst rank +15 +0\.[0-9]+ % .* seen +SimuMax: 0\.40 %$'
expect_text "$scratch/out" '^kor22 on A100 +8 '
expect_text "$scratch/out" '^ +20  smxB: a model of the kind: moe$'
expect_text "$scratch/out" '^kor22 on A100, fit on the others +8 .* left out +Calculon: 3\.65 %$'
expect_text "$scratch/out" '^kor22 on A100, 8 data ranks +1 '
expect_text "$scratch/out" '^vtm on A100 +109 .* seen +vTrain: 14\.73 %$'
expect_text "$scratch/out" '^smxB on B200 +25 .* seen +SimuMax: 4\.68 %$'
expect_exit 0 "$shoal" plan validate --cluster clusters/simumax_b200.yaml --rows
expect_text "$scratch/out" '^  mci-001 +memory between steps +measured +19\.2444 GiB'
expect_exit 0 "$shoal" plan validate --cluster clusters/simumax_b200.yaml --rows --json
/usr/bin/python3 - "$scratch/out" <<'PYTHON' || fail 'the table of errors is not that of its rows'
import json, sys
found = json.load(open(sys.argv[1]))
for name, group in found["groups"].items():
    errors = [abs(row["predicted"] / row["measured"] - 1) for row in found["rows"].values() if row["group"] == name]
    assert len(errors) == group["rows"] and abs(sum(errors) / len(errors) - group["mean_error"]) < 1e-12, name
    assert max(errors) == abs(group["worst_error"]), name
PYTHON
expect_exit 2 "$shoal" plan validate "$scratch"
expect_text "$scratch/err" 'no tables of published measurements'
mkdir "$scratch/tables"
head -2 published/kor22.csv | sed '2s/,48,/,many,/' >"$scratch/tables/a.csv"
expect_exit 3 "$shoal" plan validate "$scratch/tables"
expect_text "$scratch/err" "a.csv:2: column layers is 'many'"
# Pictures: a page that an XML parser and an HTML parser read, without scripts and addresses, also of names that are no names; and a short form.
printf 'device: {name: "<script>a&b</script>\\u202e", memory_gb: 80}\n' >"$scratch/cluster.yaml"
LC_ALL=C.UTF-8 expect_exit 0 "$shoal" plan configs/gpt2_124m.yaml --ranks 4 --set parallel.pp=2 --cluster "$scratch/cluster.yaml" --page "$scratch/plan.html"
expect_text "$scratch/out" '^  stage 1 .*█.* GiB$'
expect_text "$scratch/out" '^  step .*█.* m?s$'
expect_text "$scratch/out" '% products'
[ "$(stat -c %a "$scratch/plan.html")" = 640 ] || fail 'a page has the wrong mode'
/usr/bin/python3 - "$scratch/plan.html" <<'PYTHON' || fail 'the page of a plan is not what it should be'
import html.parser, sys, xml.etree.ElementTree as tree
text = open(sys.argv[1], encoding="utf-8").read()
root = tree.fromstring(text)
svg = "{http://www.w3.org/2000/svg}"
assert len(list(root.iter(svg + "svg"))) >= 8, "too few pictures"
tags = []
class Tags(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        tags.append(tag)
        assert not any(name in ("src", "href") or name.startswith("on") for name, value in attributes), (tag, attributes)
Tags().feed(text)
assert "script" not in tags and "link" not in tags and "img" not in tags, tags
assert "".join(root.itertext()).count("<script>a&b</script>") >= 3, "the device's name is not there"
assert len(text) < 500_000
# Each bar of a stage is as wide as the bytes in its row say, all on one scale.
scales = []
for row in root.iter("{http://www.w3.org/1999/xhtml}div"):
    spans = row.findall("{http://www.w3.org/1999/xhtml}span")
    if row.get("class") == "row" and len(spans) == 2 and (spans[1].text or "").endswith("GiB") and (spans[0].text or "").startswith("stage"):
        width = sum(float(rect.get("width")) for rect in row.iter(svg + "rect"))
        scales.append(width / float(spans[1].text.split()[0]))
assert len(scales) == 2 and abs(scales[0] / scales[1] - 1) < 0.005, scales
PYTHON
LC_ALL=C expect_exit 0 "$shoal" plan configs/gpt2_124m.yaml --ranks 4 --set parallel.pp=2
expect_text "$scratch/out" '^  stage 0 +#+=+[+]+-+'
! LC_ALL=C grep -q '[^ -~]' "$scratch/out" || fail 'a plain terminal got other characters than ASCII'
expect_exit 0 "$shoal" plan configs/gpt2_124m.yaml --ranks 4 --json --page "$scratch/plan.html"
/usr/bin/python3 -c 'import json, os, sys; page = json.load(open(sys.argv[1]))["page"]; assert page["bytes"] == os.path.getsize(page["file"])' "$scratch/out"
expect_exit 2 "$shoal" plan configs/gpt2_124m.yaml --ranks 4 --page "$scratch/nowhere/plan.html"
expect_text "$scratch/err" 'nowhere'
