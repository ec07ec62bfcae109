"""The layouts of the flagship run, one for each third of its steps: a name, ranks, and what is set."""
LAYOUTS = [
    ("4 ranks, hybrid_shard, 2 replicas", 4, ["parallel.sharding=hybrid_shard", "parallel.dp_replicate=2", "comm.lost_rank=go_on"]),
    ("4 ranks, tp 2 x pp 2", 4, ["parallel.tp=2", "parallel.pp=2", "train.micro_batch=2"]),
    ("3 ranks, full_shard", 3, ["parallel.sharding=full_shard"]),
]
