"""Wrong answers to lesson 11."""

from wrong_answers import Wrong, change

RIGHT = "float((logits.argmax(dim=1).numpy() == labels).mean())"
ZERO, BACKWARD, STEP = "    optimizer.zero_grad()\n", "    loss.backward()\n", "    optimizer.step()\n"
TOO_LATE = change(ZERO, "", BACKWARD, BACKWARD + ZERO)
TOO_EARLY = change(BACKWARD + STEP, STEP + BACKWARD)
PLACE = "matrix[labels[i] * classes + said[i]]"

WRONG = {
    "11.1": [
        Wrong("the probability", 0.1, says="minus its logarithm"),
        Wrong("base 10", 1.0, says="natural"),
        Wrong("rounded", 2.303, says="np.log has all"),
        Wrong("sign", -2.302585093, says="negative"),
    ],
    "11.2": [
        Wrong("no biases", [12800, 200704, 1280], says="bias"),
        Wrong("one channel", [832, 200832, 1290], says="all 16 channels"),
        Wrong("one pooling only", [12832, 802944, 1290], says="two poolings"),
        Wrong("transposed", [12816, 202272, 1408], says="element 0"),
    ],
    "11.3": [
        Wrong("rounded down", 780, says="16 digits"),
        Wrong("one epoch", 157, says="one epoch"),
        Wrong("rounded at the end", 782, says="begins anew"),
    ],
    "11.4": [
        Wrong("how many", change(".mean()", ".sum()"), says="for 7 digits"),
        Wrong("the wrong axis", change("argmax(dim=1)", "argmax(dim=0)[:1]"), says="11.4"),
        Wrong("constant", change(RIGHT, "1.0"), says="it gives 1, not"),
        Wrong("errors", change("==", "!="), says="for 7 digits"),
        Wrong("each by itself", change("float(", "(", ".mean()", ""), says="it must be one number"),
    ],
    "11.5": [
        Wrong("left as it was", change(ZERO, ""), says="the second step"),
        Wrong("cleared too late", TOO_LATE, says="first step has not moved"),
        Wrong("step before backward", TOO_EARLY, says="first step has not moved"),
        Wrong("no loss returned", change("loss.item()", "None"), says="returns None"),
    ],
    "11.6": [
        Wrong("not atomic", change(f"atomic_inc(&{PLACE})", f"{PLACE}++"), says="DATA RACE"),
        Wrong("transposed", change(PLACE, "matrix[said[i] * classes + labels[i]]"), says="matrix["),
        Wrong("no guard", change("if (i < n)", ""), says="OUT OF BOUNDS"),
        Wrong("only right for ten", change("* classes", "* 10"), says="OUT OF BOUNDS"),
        Wrong("only right for whole groups", change("i < n", "i < n / 8 * 8"), says="matrix[0, 1] is"),
    ],
}  # fmt: skip
