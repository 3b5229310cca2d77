"""What the source pass knows about OpenCL C 1.2: names, and what the pass cannot follow."""

from __future__ import annotations

import re

PREDEFINED = {
    "__OPENCL_VERSION__": "120",
    "__OPENCL_C_VERSION__": "120",
    "CL_VERSION_1_0": "100",
    "CL_VERSION_1_1": "110",
    "CL_VERSION_1_2": "120",
    "__ENDIAN_LITTLE__": "1",
    "__FILE__": '"kernel"',
    "CHAR_BIT": "8",
    "CHAR_MAX": "127",
    "CHAR_MIN": "(-128)",
    "SCHAR_MAX": "127",
    "SCHAR_MIN": "(-128)",
    "UCHAR_MAX": "255",
    "SHRT_MAX": "32767",
    "SHRT_MIN": "(-32768)",
    "USHRT_MAX": "65535",
    "INT_MAX": "2147483647",
    "INT_MIN": "(-2147483647 - 1)",
    "UINT_MAX": "0xffffffffu",
    "FLT_DIG": "6",
    "FLT_MANT_DIG": "24",
    "FLT_RADIX": "2",
    "FLT_MAX_EXP": "128",
    "FLT_MIN_EXP": "(-125)",
}

# Macros of the compiler's own header: left as they stand, but `#ifdef` finds them.
HEADER_MACROS = frozenset(
    """
    FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON MAXFLOAT HUGE_VALF HUGE_VAL INFINITY NAN NULL
    LONG_MAX LONG_MIN ULONG_MAX M_E_F M_LOG2E_F M_LOG10E_F M_LN2_F M_LN10_F M_PI_F M_PI_2_F M_PI_4_F M_1_PI_F
    M_2_PI_F M_2_SQRTPI_F M_SQRT2_F M_SQRT1_2_F M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI
    M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE FP_ILOGB0 FP_ILOGBNAN
    """.split()
)

# Reserved names that are surely not defined under -cl-std=CL1.2 and gpugrad's build options.
UNDEFINED = frozenset(["__FAST_RELAXED_MATH__", "__cplusplus", "__CUDACC__", "CL_VERSION_2_0", "CL_VERSION_3_0"])

ATOMIC = re.compile(r"atom(ic)?_(add|sub|inc|dec|xchg|cmpxchg|min|max|and|or|xor)$")
VECTOR_MOVE = re.compile(r"v(load|store)(2|3|4|8|16)$")
HALF_MOVE = re.compile(r"v(load|store)(a?)_half(2|3|4|8|16)?(_rt[ezpn])?$")
BARRIERS = frozenset(("barrier", "work_group_barrier"))
# These write through their last argument.
RESULT_BY_POINTER = frozenset(["fract", "frexp", "lgamma_r", "modf", "remquo", "sincos"])

_REFUSED = (
    (
        re.compile(r"async_work_group_(strided_)?copy$|wait_group_events$"),
        "it moves memory behind the work-items' backs; copy in a loop, each work-item its share",
    ),
    (
        re.compile(
            r"atomic_(init|load|store|exchange|fetch_\w+|compare_exchange_\w+|flag_\w+|work_item_fence)(_explicit)?$"
        ),
        "it is OpenCL 2.0; use atomic_add, atomic_cmpxchg and their kin",
    ),
    (re.compile(r"to_(global|local|private)$|get_fence$"), "generic pointers are OpenCL 2.0; name the address space"),
    (
        re.compile(r"(sub_group|work_group)_(?!barrier$)\w+$|get_sub_group_\w+$|intel_sub_group_\w+$"),
        "work-group and sub-group functions are OpenCL 2.0; use local memory and a barrier",
    ),
    (re.compile(r"(read|write)_image\w*$|get_image_\w+$"), "images are not followed; use a buffer"),
    (re.compile(r"(read|write)_pipe$|enqueue_kernel$|get_kernel_\w+$|ndrange_\w+$"), "it is OpenCL 2.0"),
    (re.compile(r"__builtin_\w+$|(work_group_)?(reserve|commit)_\w+$"), "a compiler's own function is not followed"),
)

FORBIDDEN_WORDS = {
    "asm": "inline assembly reaches memory unseen",
    "__asm__": "inline assembly reaches memory unseen",
    "__asm": "inline assembly reaches memory unseen",
    "generic": "generic pointers are OpenCL 2.0; name the address space",
    "__generic": "generic pointers are OpenCL 2.0; name the address space",
    "_Pragma": "write it as a #pragma line",
    "__typeof__": "name the type",
    "typeof": "name the type",
    "_Generic": "it is not OpenCL C 1.2",
    "__block": "blocks are OpenCL 2.0",
    "pipe": "pipes are OpenCL 2.0",
    "_Atomic": "it is not OpenCL C 1.2",
    "__extension__": "it is not OpenCL C 1.2",
    "template": "it is C++",
    "class": "it is C++",
    "namespace": "it is C++",
    "auto": "name the type",
}


def moves(function: str) -> tuple[int, int] | None:
    """Of vloadN, vstoreN and their half forms: how many numbers, and how far it is to the next ones. None: another."""
    if plain := VECTOR_MOVE.match(function):
        return int(plain[2]), int(plain[2])
    half = HALF_MOVE.match(function)
    lanes = int(half[3] or 1) if half else 0
    return (lanes, 4 if half[2] and lanes == 3 else lanes) if half else None


def refused(function: str) -> str:
    """Why a built-in function is not handled, or an empty string."""
    return next((why for pattern, why in _REFUSED if pattern.match(function)), "")
