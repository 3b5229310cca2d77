"""Exercises of lesson 11: the loss of a guess, sizes, accuracy, a training step, the confusion matrix."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, rounded_up
from ..python_exercise import PythonExercise
from ..spec import Lesson, Prediction


def _guess() -> float:
    import gpugrad as gg
    import gpugrad.nn.functional as F

    return float(F.cross_entropy(gg.zeros(5, 10), gg.tensor([3, 1, 4, 1, 5])).item())


def _parameters() -> list[int]:
    from gpugrad.models import course_cnn

    model = course_cnn()
    return [sum(p.array.size for p in model[i].parameters()) for i in (3, 7, 9)]


def _steps() -> int:
    from gpugrad import data

    digits = data.ImageDataset(np.zeros((10_000, 1, 1), "u1"), np.zeros(10_000, "u1"), "none")
    return 5 * len(data.DataLoader(digits, 64))


def _accuracy(accuracy: Any) -> str:
    import gpugrad as gg

    rng = np.random.default_rng(114)
    for n in (7, 1, 10, 200):
        logits = rng.standard_normal((n, 10)).astype("f4")
        labels = np.where(rng.random(n) < 0.6, logits.argmax(1), rng.integers(0, 10, n))
        expected, found = float((logits.argmax(1) == labels).mean()), accuracy(gg.tensor(logits), labels)
        try:
            off = abs(float(found) - expected)
        except (TypeError, ValueError):
            return f"it returns {found!r}; it must be one number."
        if not off < 1e-6:
            right = round(expected * n)
            return f"for {n} digits of which {right} are right it gives {float(found):.4g}, not {expected:.4g}."
    return ""


def _train_step(train_step: Any) -> str:
    """Three steps of a linear network, with digits of their own each, beside the same in float64."""
    import gpugrad as gg
    from gpugrad import nn, optim

    rng = np.random.default_rng(115)
    weight = rng.standard_normal((3, 5))
    layer = nn.Linear(5, 3, bias=False)
    layer.load_state_dict({"weight": gg.tensor(weight.astype("f4"))})
    optimizer = optim.SGD(layer.parameters(), lr=0.5)
    for number in ("first", "second", "third"):
        x, labels = rng.standard_normal((4, 5)), rng.integers(0, 3, 4)
        scores = x @ weight.T
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        loss = -np.log(p[np.arange(4), labels]).mean()
        p[np.arange(4), labels] -= 1
        before, weight = weight, weight - 0.5 * p.T @ x / 4
        said = train_step(layer, optimizer, gg.tensor(x.astype("f4")), gg.tensor(labels))
        now = layer.weight.detach().numpy()
        # float32 sums of a few terms of size 1; a wrong step is off by far more
        if np.allclose(now, before, atol=1e-5):
            return f"the {number} step has not moved the weights."
        if not np.allclose(now, weight, atol=1e-4):
            return f"after the {number} step the weights are not what one step downhill from the last ones gives."
        if not isinstance(said, float) or abs(said - loss) > 1e-4:
            return f"the {number} step returns {said!r}; the loss is {loss:.4f}."
    return ""


def _confusion(rng: np.random.Generator) -> Iterator[Case]:
    for n, classes in ((7, 3), (1, 1), (60, 2), (500, 10)):
        labels, said = rng.integers(0, classes, (2, n)).astype("i4")
        matrix = np.zeros((classes, classes), "i4")
        np.add.at(matrix, (labels, said), 1)
        out = Out(matrix, before=np.zeros_like(matrix))
        yield Case(f"with {n} digits, {classes} classes", (labels, said, out, n, classes), (rounded_up(n, 8),), (8,))


LESSON = Lesson(
    "11_mnist",
    "MNIST: a network that reads digits",
    "How do two hundred thousand numbers learn to read?",
    exercises=(
        Prediction(
            "11.1", "predict", "The loss of a guess",
            hints=(
                "Ten equal scores: which probability does softmax give each digit?",
                "The loss is minus the logarithm of the probability that the right digit gets.",
                "-np.log(1 / 10)",
            ),
            truth=_guess,
            why="It is the logarithm of 10. A network that begins with a larger loss is sure of wrong things.",
            misconceptions=(
                (0.1, "That is the probability of the right digit; the loss is minus its logarithm."),
                (1.0, "The logarithm is the natural one, not the one to base 10."),
                (2.3, "Nearly: that is rounded. An expression with np.log has all the digits."),
                (2.303, "Nearly: that is rounded. An expression with np.log has all the digits."),
                (0.0, "A loss of 0 is that of a network that is sure and right."),
                (-2.302585093, "The probability is below 1, so its logarithm is negative; the loss is minus that."),
            ),
        ),
        Prediction(
            "11.2", "predict", "Where the parameters are",
            hints=(
                "A convolution has a window of C * KH * KW weights for each output channel, and a bias.",
                "A linear layer has a weight for each pair of input and output, and a bias for each output.",
                "[32 * (16 * 5 * 5 + 1), 128 * (32 * 7 * 7 + 1), 10 * (128 + 1)]",
            ),
            truth=_parameters,
            why="Most parameters are in the first linear layer; most of the arithmetic is in the convolutions.",
            misconceptions=(
                ([12800, 200704, 1280], "These are the weights; there is a bias for each output channel, too."),
                ([832, 200832, 1290], "Each window of the convolution looks at all 16 channels."),
                ([12832, 802944, 1290], "32 channels of 7 x 7: there are two poolings before it."),
            ),
        ),
        Prediction(
            "11.3", "predict", "How many steps",
            hints=(
                "How many batches does one epoch have? The last one may be smaller.",
                "10,000 / 64 is 156 and a quarter: 157 batches.",
            ),
            truth=_steps,
            why="157 batches in each epoch: the last one has the 16 digits that are left.",
            misconceptions=(
                (780, "What is left over, 16 digits, is a batch, too."),
                (157, "That is one epoch."),
                (781, "Each epoch begins anew: round up first, then multiply."),
                (782, "Each epoch begins anew: round up first, then multiply."),
            ),
        ),
        PythonExercise(
            "11.4", "write Python", "Accuracy",
            hints=(
                "The network's answer to a digit is where the largest of its ten scores is.",
                "logits.argmax(dim=1).numpy() gives the answers; == compares them with the labels.",
                "The mean of True and False is the part that is true.",
            ),
            function="accuracy", complaint=_accuracy,
            done="No exponentials needed: softmax does not change which score is the largest.",
        ),
        PythonExercise(
            "11.5", "find the bug", "A step that remembers",
            hints=(
                "The gradient is once, twice, three times as large, though nothing has moved. What adds up?",
                "backward adds to the gradients that are there already. Somebody must clear them.",
                "optimizer.zero_grad(), before backward fills them again.",
            ),
            function="train_step", complaint=_train_step,
            done="Gradients add up, so that a parameter can be used twice; clear them before each step.",
        ),
        KernelExercise(
            "11.6", "write a kernel", "What was taken for what",
            hints=(
                "Guard first: there may be more work-items than digits.",
                "Row labels[i] of a matrix with `classes` columns begins at labels[i] * classes.",
                "atomic_inc(&matrix[labels[i] * classes + said[i]]);",
            ),
            kernel="confusion", cases=_confusion,
            done="Whole numbers may be added in any order, so the atomic's result is the same every time.",
        ),
    ),
)  # fmt: skip
