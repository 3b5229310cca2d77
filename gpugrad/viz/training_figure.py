"""Training, watched: loss and accuracy while it runs; afterwards the mistakes, the filters, a digit's way through."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import data as datasets
from .. import nn
from ..data.dataset import ImageDataset
from ..device import current_device
from ..kernels.checks import integer
from .figure import Figure
from .network import check_network, device_of, number, put, shown, softmax
from .page import script
from .smoothing import smooth
from .still import INK, MUTED, drawing, text
from .words import num, pack

EVERY = 0.25  # seconds between two pictures sent while training runs
MOST_POINTS = 1500
LEAD = "The loss of each batch with its running mean, and the accuracy on digits the network has not seen."


class Training(Figure):
    """Give it what happens: `step(loss)` after a batch, `epoch(accuracy)` after an epoch, `finish()` at the end."""

    _esm = script("network.js", "training.js")

    def __init__(self, model: Any, test: ImageDataset | None, every: float) -> None:
        self.model, self.test, self.every = model, test, every
        self.losses: list[float] = []
        self.accuracies: list[tuple[int, float]] = []  # after so many batches
        self.sent = 0.0
        self.after: dict[str, Any] = {}
        super().__init__(data=self._data())
        self.on_msg(self._asked)

    def step(self, loss: Any) -> None:
        """One batch's loss: a number, or a tensor of one element (reading it waits for the device)."""
        self.losses.append(one_number("loss", loss))
        self._tell()

    def epoch(self, accuracy: float) -> None:
        """The accuracy on the test set, 0 to 1, after the epoch that ends here."""
        part = one_number("accuracy", accuracy)
        if not 0 <= part <= 1:
            raise ValueError(f"training: accuracy is {accuracy}; it is a part of the whole, 0 to 1")
        self.accuracies.append((len(self.losses), part))
        self._tell(now=True)

    def finish(self) -> None:
        """Look at the trained network: confusion matrix, worst mistakes, filters, a digit's way through its layers."""
        if self.model is not None and self.test is not None:
            self.probabilities = self._probabilities()
            self.after = self._after()
        self._tell(now=True)

    def look(self, index: int) -> None:
        """Follow another test digit through the network."""
        index = integer("training", "index", index)
        if self.test is None or not 0 <= index < len(self.test):
            raise IndexError(
                f"training: index is {index}; the test set has {len(self.test) if self.test else 0} digits"
            )
        if not self.after:
            raise ValueError(
                "training: there is nothing to look at yet; give training a model, and call finish() first"
            )
        self.after = {**self.after, "digit": self._digit(index)}
        self._tell(now=True)

    def _asked(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("ask") == "digit" and self.after:
            self.look(int(content["index"]))

    def _tell(self, now: bool = False) -> None:
        """Send the picture, unless the last one went a moment ago: training must not wait for the notebook."""
        if now or time.monotonic() - self.sent >= self.every:
            self.sent = time.monotonic()
            self.data = self._data()

    def _data(self) -> dict[str, Any]:
        loss = np.array(self.losses)
        step = max(1, -(-len(loss) // MOST_POINTS))
        where = current_device() if self.model is None else device_of(self.model)
        mean = smooth(loss, max(5, len(loss) // 30))
        return {
            "title": "Training", "lead": LEAD, "caption": f"Trained on {where}.", "batches": len(loss),
            "last": num(self.losses[-1]) if self.losses else "",
            "at": pack(np.arange(1, len(loss) + 1)[::step], "f4"), "loss": pack(loss[::step], "f4"),
            "mean": pack(mean[::step], "f4"), "accuracy": self.accuracies, **self.after,
        }  # fmt: skip

    def _probabilities(self) -> np.ndarray:
        from .. import no_grad

        assert self.test is not None
        was = self.model.training
        self.model.eval()
        try:
            with no_grad():
                starts = range(0, len(self.test), 500)
                parts = [softmax(self.model(put(self.model, self.test[a : a + 500][0]))) for a in starts]
        finally:
            self.model.train(was)
        return np.concatenate(parts)

    def _after(self) -> dict[str, Any]:
        assert self.test is not None
        labels, p = self.test.labels.astype(int), self.probabilities
        said = p.argmax(1)
        confusion = np.zeros((10, 10), int)
        np.add.at(confusion, (labels, said), 1)
        wrong = np.flatnonzero(said != labels)
        wrong = wrong[np.argsort(-p[wrong, said[wrong]], kind="stable")][:20]
        mistakes = [{"index": int(i), "image": pack(self.test.images[i].reshape(-1), "u1"), "label": int(labels[i]),
                     "said": int(said[i]), "sure": number(p[i, said[i]], 3)} for i in wrong]  # fmt: skip
        first = self._digit(int(wrong[0]) if len(wrong) else 0)
        lost = int((~np.isfinite(p).all(1)).sum())
        return {
            "confusion": confusion.tolist(),
            "lost": lost,
            "mistakes": mistakes,
            "filters": self._filters(),
            "digit": first,
        }

    def _digit(self, index: int) -> dict[str, Any]:
        assert self.test is not None
        return {"index": index, "label": int(self.test.labels[index]), **shown(self.model, self.test.images[index])}

    def _filters(self) -> dict[str, Any] | None:
        """The first layer's filters, if it is a convolution of one channel: signed, so grey is zero."""
        first = next(iter(self.model), None)
        if not isinstance(first, nn.Conv2d) or first.weight.shape[1] != 1:
            return None
        w = first.weight.detach().numpy()[:, 0]
        w = np.where(np.isfinite(w), w, 0)
        most = float(np.abs(w).max()) or 1.0
        return {"shape": list(w.shape), "most": most, "values": pack(np.round(w / most * 127).reshape(-1), "i1")}

    def _epochs(self) -> str:
        return f"{len(self.accuracies)} epoch{'s' * (len(self.accuracies) != 1)}"

    def head(self) -> str:
        return "Training, watched"

    def describe(self) -> str:
        if not self.losses:
            return "No batch yet."
        said = f"{len(self.losses):,} batch{'es' * (len(self.losses) != 1)}, the last loss {num(self.losses[-1])}"
        if self.accuracies:
            said += f"; {self._epochs()}, {100 * self.accuracies[-1][1]:.1f} % of the test digits right"
        if self.after and self.test is not None:
            wrong = int((self.probabilities.argmax(1) != self.test.labels).sum())
            said += f"; {wrong:,} of {len(self.test):,} wrong"
            if self.after["lost"]:
                said += f"; for {self.after['lost']:,} of them the network gives no number (NaN)"
        return said + "."

    def __repr__(self) -> str:
        return f"{self.head()}: {self._epochs()}"  # losses differ from device to device

    def first_frame(self) -> str:
        label = f"{self.head()}: {self._epochs()}"
        note = "The curves, mistakes and layers are in the live figure."
        return drawing(560, 76, label, [text(16, 28, label, 15, INK, 650), text(16, 52, note, 13, MUTED)])


def one_number(name: str, value: Any) -> float:
    """What a training loop gives: a number, or a tensor or array of one element."""
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"training: {name} is {value!r}; give a number, or a tensor of one element") from None


def check_digits(test: ImageDataset) -> None:
    """Test digits that the networks of check_network can be asked about."""
    if not len(test) or test.images.shape[1:] != (28, 28):
        raise ValueError(f"training: test holds images of shape {test.images.shape}; it needs (N, 28, 28), N not 0")
    if not ((test.labels >= 0) & (test.labels <= 9)).all():
        raise ValueError(
            f"training: test holds labels from {test.labels.min()} to {test.labels.max()}; they must be digits, 0 to 9"
        )


def training(model: Any = None, test: ImageDataset | None = None, *, every: float = EVERY) -> Training:
    """A view of a training run: show it, then call `.step(loss)`, `.epoch(accuracy)` and `.finish()` from your loop.

    It sends one picture at most every `every` seconds, so a notebook is not flooded. With model (a `nn.Sequential` from
    (N, 1, 28, 28) to (N, 10)) and test (the test digits; without it the shipped ones), `.finish()` adds the confusion
    matrix, the worst mistakes, the first layer's filters, and the way of a digit through the network.
    """
    if model is not None:
        check_network("training", model)
    if isinstance(every, bool) or not isinstance(every, (int, float)) or not every >= 0:
        raise ValueError(f"training: every is {every!r}; it is a number of seconds, 0 or more")
    if model is not None and test is None:
        test = datasets.mnist(train=False, source="subset")
    if test is not None and not isinstance(test, ImageDataset):
        raise TypeError(f"training: test is {type(test).__name__}; give what gg.data.mnist(train=False) gives")
    if test is not None:
        check_digits(test)
    return Training(model, test, every)
