"""Kernel families: each a `.cl` file and the functions that check arguments and launch it, on Arrays."""

from .ladder import families, use_kernels, variant, variants

__all__ = ["families", "use_kernels", "variant", "variants"]
