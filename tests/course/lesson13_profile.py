"""Wrong answers to lesson 13."""

from wrong_answers import Wrong, change

FLOPS, BYTES = 2 * 32 * 128 * 1568, 4 * (32 * 1568 + 1568 * 128 + 32 * 128)

# The second reading of x, and each of two writes, stand behind a condition.
BEHIND_CONDITIONS = change(
    "      float value = x[i];\n      out[i] = value < 0 ? 0 : value;",
    "      if (x[i] < 0)\n        out[i] = 0;\n      else\n        out[i] = x[i];",
)
ANOTHER_WAY = {"13.5": BEHIND_CONDITIONS}

WRONG = {
    "13.1": [
        Wrong("multiplications only", [FLOPS // 2, BYTES], says="are two operations"),
        Wrong("the result forgotten", [FLOPS, BYTES - 4 * 32 * 128], says="has to be written"),
        Wrong("numbers, not bytes", [FLOPS, BYTES // 4], says="four bytes"),
        Wrong("what the naive kernel asks for", [FLOPS, 4 * FLOPS], says="at the least each number moves once"),
    ],
    "13.2": [
        Wrong("everything becomes faster", [50, 25, 5], says="20 milliseconds stay"),
        Wrong("halved twice with its rest", [60, 30, 5], says="a quarter of the first 80"),
        Wrong("milliseconds", [60, 40, 20], says="How many times"),
        Wrong("one number", 60, says="a list of 3 numbers"),
    ],
    "13.3": [
        Wrong("the distance", [1, 4, 100], says="one each"),
        Wrong("one for each", [32, 32, 32], says="come together"),
        Wrong("one for all", [1, 1, 1], says="no more than 32 floats"),
        Wrong("all or nothing", [1, 32, 32], says="eight neighbours"),
    ],
    "13.4": [
        Wrong("one of two", change("peaks.gflops / peaks.gbytes_per_second", "..."), says="A `...` is left"),
        Wrong("bytes for each operation", change("flops / bytes", "bytes / flops"), says="take longer"),
        Wrong(
            "ridge upside down",
            change("peaks.gflops / peaks.gbytes_per_second", "peaks.gbytes_per_second / peaks.gflops"),
            says="take longer",
        ),
        Wrong("always the same", change("if intensity < ridge", "if True"), says="'memory'"),
        Wrong("one device's ridge", change("peaks.gflops / peaks.gbytes_per_second", "5"), says="take longer"),
    ],
    "13.5": [
        Wrong(
            "its own stretch, and the value fetched twice",
            change("first + k * get_global_size(0)", "EACH * first + k", "0 : value", "0 : x[i]"),
            says="32 neighbours touch 8.00 segments at once",
        ),
        Wrong(
            "left as it was",
            change("= get_global_id(0)", "= EACH * get_global_id(0)", "k * get_global_size(0)", "k"),
            says="touch 8.00 segments",
        ),
        Wrong("the group's size", change("get_global_size(0)", "get_local_size(0)"), says="DATA RACE"),
        Wrong("the number of elements each", change("k * get_global_size(0)", "k * EACH"), says="DATA RACE"),
        Wrong("one element each", change("k < EACH", "k < 1"), says="NEVER WRITTEN"),
    ],
    "13.6": [
        Wrong("left as it was", change("[32][33]", "[32][32]"), says="where they write tile[i][k] in line 6"),
        Wrong("a row more", change("[32][33]", "[33][32]"), says="32 of 32 neighbours queue up"),
        Wrong("two more", change("[32][33]", "[32][34]"), says="2 of 32 neighbours queue up"),
        Wrong("one too few", change("[32][33]", "[32][31]"), says="with R = 32, C = 64"),
        Wrong("only right for square", change("* R + r0", "* C + r0"), says="OUT OF BOUNDS"),
    ],
    "13.7": [
        Wrong("no ReLU", change("best = 0", "best = -INFINITY"), says="out["),
        Wrong("read twice", change("= a;", "= x[(plane * H + 2 * oh + kh) * W + 2 * ow + kw];"), says="second time"),
        Wrong("only right for even widths", change("+ kh) * W", "+ kh) * 2 * OW"), says="out["),
        Wrong("no guard", change("ow < OW && oh < OH && plane < planes", "1"), says="OUT OF BOUNDS"),
        Wrong("a NaN is lost", change("best == best && !(a <= best)", "a > best"), says="and should be nan"),
    ],
    "13.8": [
        Wrong("the slowest", change("t.seconds - least(t)", "t.seconds"), says="that computes all the time; "),
        Wrong("the worst ratio", change("t.seconds - least(t)", "t.seconds / least(t)"), says="but tiny; "),
        Wrong("the unknown one", change("if t.bytes is not None or t.flops is not None", ""), says="is known; "),
        Wrong("bytes only", change("max(by_bytes, by_operations)", "by_bytes"), says="that computes all the time; "),
        Wrong("added up", change("max(by_bytes, by_operations)", "by_bytes + by_operations"), says="near its roof; "),
        Wrong("an index", change("max(known, key=lambda t: t.seconds - least(t))", "0"), says="it gives 0"),
    ],
}  # fmt: skip
