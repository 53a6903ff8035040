"""The exercises that passed, in PyTorch (docs/05_model.md).

    build/onepass library                      # or: build/onepass library solutions

    import sys; sys.path.append("grader/pytorch")
    import onepass
    print(onepass.swap(model))                 # a LLaMA, Qwen 3 or GPT-2 of transformers
    y = onepass.rmsnorm(x, weight, eps=1e-5)   # or one operator by itself

On a GPU they are the kernels of build/library/exercises/libonepass.so, or of the file that
ONEPASS_LIBRARY names; on a CPU the same formulas by PyTorch's own operators, so that a model may be
built and tried there.
"""

from .functions import layernorm, qk_norm_rope, residual_rmsnorm, rmsnorm, rope
from .library import NotPassed
from .modules import LayerNorm, ResidualRMSNorm, RMSNorm
from .swap import swap

__all__ = ["LayerNorm", "NotPassed", "RMSNorm", "ResidualRMSNorm", "layernorm", "qk_norm_rope",
           "residual_rmsnorm", "rmsnorm", "rope", "swap"]
