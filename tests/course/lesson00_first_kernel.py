"""Wrong answers to lesson 00."""

from wrong_answers import Wrong, change

WRONG = {
    "00.1": [
        Wrong("as many as elements", [1000, 64, 65], says="whole groups"),
        Wrong("rounded down", [960, 64, 64], says="rounded down"),
        Wrong("always one group more", [1024, 128, 128], says="fit into one group"),
        Wrong("groups, not work-items", [16, 1, 2], says="These are the groups"),
        Wrong("one number", 1024, says="a list of 3 numbers"),
    ],
    "00.2": [
        Wrong("constant", change("x[i] * x[i]", "1"), says="out[0] is 1, and should be"),
        Wrong("no guard", change("if (i < n) ", ""), says="OUT OF BOUNDS, line 3: work-item 1 of group 1 reads x[5]"),
        Wrong("off by one", change("i < n", "i < n - 1"), says="1 of the 5 elements of out were not written"),
        Wrong("doubled, not squared", change("x[i] * x[i]", "2 * x[i]"), says="out[0] is"),
        Wrong("Python's power", change("x[i] * x[i]", "x[i] ** 2"), says="does not compile"),
        Wrong("only work-item 0 works", change("(i < n)", "(i == 0)"), says="4 of the 5 elements"),
    ],
    "00.3": [
        Wrong("off by one", change("n - 1 - i", "n - i"), says="reads x[7], but x has 7 elements"),
        Wrong(
            "not turned round",
            change("x[n - 1 - i]", "x[i]"),
            says="It was written by work-item 0 of group 0 in line 3",
        ),
        Wrong(
            "only right for whole groups", change("x[n - 1 - i]", "x[get_global_size(0) - 1 - i]"), says="OUT OF BOUNDS"
        ),
        Wrong("constant", change("x[n - 1 - i]", "0"), says="out[0] is 0, and should be"),
        Wrong(
            "turned round within the group",
            change("x[n - 1 - i]", "x[get_group_id(0) * 4 + 3 - get_local_id(0)]"),
            says="OUT OF BOUNDS",
        ),
        Wrong("another name", change("reverse", "turn"), says="no kernel 'reverse'"),
        Wrong("only right for powers of two", change("n - 1 - i", "(n - 1) ^ i"), says="OUT OF BOUNDS"),
    ],
}
