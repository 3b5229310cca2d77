"""An independent witness: clang's own syntax tree of the corpus names the same accesses to global and local memory.

libclang (the extra `oracle`) types every expression of every kernel. Each object in global or local
memory that it finds read or written must be a site, of the same kind, place and type; and each site one of those.
"""

import re

import pytest
from source.runner import CASES, CORPUS, DEFINES

from gpugrad.source import instrument
from gpugrad.source.layout import BASES

cindex = pytest.importorskip("clang.cindex", reason="needs the extra 'oracle': clang's tree is the witness")
Kind = cindex.CursorKind
pytestmark = pytest.mark.deep  # `make test-deep` installs the extra

SCALARS = {"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long"}
PRELUDE = (
    "".join(f"typedef {c} {name};\n" for name, c in SCALARS.items())
    + "typedef unsigned long size_t;\ntypedef unsigned cl_mem_fence_flags;\n"
    + "".join(
        f"typedef {t} {t}{n} __attribute__((ext_vector_type({n})));\n"
        for t in ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"]
        for n in (2, 3, 4, 8, 16)
    )
    + "#define M_PI_F 3.14159274101257f\n#define INFINITY (__builtin_inff())\n"
    "#define __opencl_c_named_address_space_builtins 1\n"
    "uint as_uint(float);\nint as_int(float);\nfloat as_float(uint);\n"
    "#define CLK_LOCAL_MEM_FENCE 1\n#define CLK_GLOBAL_MEM_FENCE 2\n#define cl_khr_fp64 1\n"
    "typedef enum memory_scope { memory_scope_device } memory_scope;\n"
    "typedef enum memory_order { memory_order_relaxed } memory_order;\n"
)
# clang looks for its own header of this name, which libclang does not ship.
HEADER = "/virtual/opencl-c-base.h"
OPTIONS = ["-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-Xclang", "-fdeclare-opencl-builtins", "-I/virtual"]
GLOBAL, LOCAL = 1, 2
OBJECTS = (
    Kind.ARRAY_SUBSCRIPT_EXPR,
    Kind.MEMBER_REF_EXPR,
    Kind.UNARY_OPERATOR,
    Kind.DECL_REF_EXPR,
    Kind.UNEXPOSED_EXPR,
)


def parsed(file):
    path = str(CORPUS / file)
    options = OPTIONS + [f"-D{k}={v}" for k, v in DEFINES.get(file, {}).items()]
    unit = cindex.Index.create().parse(path, options, [(HEADER, PRELUDE)])
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    assert not errors, [str(e) for e in errors]
    return unit


def spanned(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


def accesses(cursor, text, parents=()):
    """-> {((start, end), kind)} of every object in global or local memory that is read or written below `cursor`"""
    found = set()
    if cursor.kind in OBJECTS and is_object(cursor, text):
        found |= {(spanned(cursor), kind) for kind in uses(cursor, parents, text)}
    if cursor.kind != Kind.CXX_UNARY_EXPR:  # sizeof
        for child in cursor.get_children():
            found |= accesses(child, text, (*parents, cursor))
    return found


def is_object(c, text):
    inner = list(c.get_children())
    start, end = spanned(c)
    arrow = len(inner) == 1 and text[spanned(inner[0])[1] : end].lstrip().startswith("->")
    space = (inner[0].type.get_pointee() if arrow else c.type).get_address_space()
    if c.type.kind == cindex.TypeKind.CONSTANTARRAY or space not in (GLOBAL, LOCAL):
        return False
    if c.kind == Kind.UNARY_OPERATOR:
        return text[start] == "*"
    # libclang shows component access (v.xy) and conversions alike as unexposed: take those that add text
    return c.kind != Kind.UNEXPOSED_EXPR or (
        len(inner) == 1 and text[spanned(inner[0])[1] : end].lstrip().startswith((".", "->"))
    )


def uses(c, parents, text):
    """How the object is used by what stands around it: as the part of another it is nothing by itself."""
    span, i = spanned(c), len(parents) - 1
    while i >= 0 and (parents[i].kind == Kind.PAREN_EXPR or spanned(parents[i]) == span):
        span, i = spanned(parents[i]), i - 1
    p = parents[i]
    first = next(iter(p.get_children()), None)
    is_first = first is not None and spanned(first) == span
    between = text[span[1] : spanned(p)[1]].lstrip()
    if p.kind == Kind.MEMBER_REF_EXPR or (p.kind == Kind.UNEXPOSED_EXPR and between.startswith(".")):
        return []
    if p.kind == Kind.UNARY_OPERATOR and text[spanned(p)[0]] == "&":
        return []
    if p.kind == Kind.COMPOUND_ASSIGNMENT_OPERATOR and is_first:
        return ["load", "store"]
    if p.kind == Kind.UNARY_OPERATOR and ("++" in text[slice(*spanned(p))] or "--" in text[slice(*spanned(p))]):
        op = text[spanned(p)[0] : spanned(p)[0] + 2]
        if op in ("++", "--") or between[:2] in ("++", "--"):
            return ["load", "store"]
    if p.kind == Kind.BINARY_OPERATOR and is_first and re.match(r"=(?!=)", between):
        return ["store"]
    if p.kind == Kind.CSTYLE_CAST_EXPR and text[spanned(p)[0] :].startswith("(void)"):
        return ["load"]
    return ["load"]


@pytest.mark.parametrize("file", sorted({c.file for c in CASES.values()} - {"halves.cl", "macros.cl"}))
def test_the_sites_are_the_accesses_that_clang_finds(file):
    text = (CORPUS / file).read_text()
    functions = {
        c.spelling: c for c in parsed(file).cursor.get_children() if c.kind == Kind.FUNCTION_DECL and c.is_definition()
    }
    for case in (c for c in CASES.values() if c.file == file):
        sites = [s for s in instrument(text, case.name, case.defines).sites if s.kind in ("load", "store")]
        ours = {((s.start, s.end), s.kind) for s in sites if not re.match(r"v(load|store)\d", s.text)}
        if file == "constants.cl":  # these have sites, but clang is asked for global and local only
            ours = {(span, kind) for span, kind in ours if not re.match(r"[WcVM]\[", text[slice(*span)])}
        theirs = set()
        for name in {s.function for s in sites} | {case.name}:
            theirs |= accesses(functions[name], text)
        named = {(text[slice(*span)], kind) for span, kind in ours ^ theirs}
        assert ours == theirs, (case.name, named)


def test_the_types_of_the_sites_are_those_that_clang_gives():
    for file in ("vectors.cl", "structs.cl", "pointers.cl"):
        text = (CORPUS / file).read_text()
        types = {}

        def note(c, types=types):
            types.setdefault(spanned(c), set()).add(c.type.get_canonical().get_size())
            for child in c.get_children():
                note(child)

        note(parsed(file).cursor)
        for case in (c for c in CASES.values() if c.file == file):
            for s in instrument(text, case.name).sites:
                if s.kind in ("load", "store") and s.scalar and not re.match(r"v(load|store)\d", s.text):
                    whole = BASES[s.scalar + (str(s.lanes) if s.lanes > 1 else "")].size
                    sizes = types[(s.start, s.end)]
                    if s.name == "struct":  # it is recorded in pieces
                        assert all(size % whole == 0 for size in sizes), (s.text, whole, sizes)
                        continue
                    assert whole in sizes or re.search(r"(\.|->)(lo|hi|even|odd|[xyzw]+|s[\da-f]+)$", s.text), (
                        s.text,
                        whole,
                        sizes,
                    )
