"""What the oracles share: where Python finds torch, how tensors are drawn, how two files of tensors are compared."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden"
SKIPPED = 77  # what CMake's SKIP_RETURN_CODE says

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here comes from a network
sys.path.insert(0, str(ROOT / ".deps" / "site"))


def missing(*modules):
    """Why these modules cannot be used, or None."""
    try:
        for module in modules:
            __import__(module)
    except ImportError as error:
        return f"{error} (tools/deps.sh engine check cuda)"
    return None


def one_thread():
    """Sums in one order, whatever the host: goldens are compared closely."""
    import torch
    torch.set_num_threads(1)


class Draw:
    """Nearly normal numbers that are the same bits on every host: sums of three integers, times a factor.

    torch.randn takes logarithms and cosines, whose last bits depend on the processor.
    """

    def __init__(self, seed):
        import torch
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, shape, spread):
        import torch
        reach = 1 << 11  # three numbers from -reach .. reach have the standard deviation reach
        whole = torch.randint(-reach, reach + 1, (3, *shape), generator=self.generator).sum(0)
        return (whole.double() * (spread / reach)).float()

    def tokens(self, shape, vocabulary):
        import torch
        return torch.randint(vocabulary, shape, generator=self.generator)


def distance(tensor, wanted):
    """The largest difference, relative to the largest magnitude of what is wanted."""
    if tensor.numel() == 0:
        return 0.0
    scale = wanted.double().abs().max().item()
    return (tensor.double() - wanted.double()).abs().max().item() / (scale or 1.0)


def differences(tensors, wanted, tolerance):
    """One line for each tensor of two dicts that is not as wanted. tolerance(name) is a distance; 0 means the same bits."""
    import torch
    lines = [f"{name}: only in {'the golden file' if name in wanted else 'the new one'}" for name in sorted(tensors.keys() ^ wanted.keys())]
    for name in sorted(tensors.keys() & wanted.keys()):
        new, old = tensors[name], wanted[name]
        if (new.dtype, new.shape) != (old.dtype, old.shape):
            lines.append(f"{name}: {new.dtype} {list(new.shape)}, golden {old.dtype} {list(old.shape)}")
        elif not torch.equal(new, old):
            limit = tolerance(name)
            apart = distance(new, old)
            if not apart <= limit:  # not >: NaN has to fail
                lines.append(f"{name}: {apart:.3g} apart, allowed {limit:.3g}")
    return lines


def without_key_bias(tensors):
    """What train_steps.py makes, without the part of GPT-2's trained biases that nothing depends on.

    What is added to every key adds the same to all scores of a query, and softmax does not see it: the true gradient is zero.
    The computed one is rounding error, and AdamW, which divides by its size, makes steps of it: in float as large as any.
    """
    import torch
    kept = {}
    for name, tensor in tensors.items():
        if name.startswith("weight.") and name.endswith("c_attn.bias"):
            query, _, value = tensor.chunk(3)
            tensor = torch.cat((query, value))
        kept[name] = tensor
    return kept
