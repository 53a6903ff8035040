"""Modules with the parameters of those that they stand in for."""

import torch

from . import functions


class RMSNorm(torch.nn.Module):
    """RMSNorm over the last dimension."""

    def __init__(self, weight, eps, cast_order="weight_in_fp32"):
        super().__init__()
        self.weight, self.eps, self.cast_order = weight, eps, cast_order

    @classmethod
    def from_module(cls, module, cast_order="weight_in_fp32"):
        """Takes over the weight itself, so that an optimizer that has it keeps it, and eps."""
        eps = getattr(module, "variance_epsilon", None)  # the name in transformers
        eps = module.eps if eps is None else eps
        if eps is None:  # torch.nn.RMSNorm's default
            eps = torch.finfo(module.weight.dtype).eps
        return cls(module.weight, eps, cast_order)

    def forward(self, x):
        return functions.rmsnorm(x, self.weight, self.eps, self.cast_order)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.eps}, cast_order={self.cast_order}"


class ResidualRMSNorm(RMSNorm):
    """x + residual, and its RMSNorm."""

    def forward(self, x, residual):
        return functions.residual_rmsnorm(x, residual, self.weight, self.eps, self.cast_order)


class LayerNorm(torch.nn.Module):
    """LayerNorm over the last dimension."""

    def __init__(self, weight, bias, eps):
        super().__init__()
        self.weight, self.bias, self.eps = weight, bias, eps

    @classmethod
    def from_module(cls, module):
        return cls(module.weight, module.bias, module.eps)

    def forward(self, x):
        return functions.layernorm(x, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{None if self.weight is None else tuple(self.weight.shape)}, eps={self.eps}"
