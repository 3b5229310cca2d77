"""Draw a digit: the trained network's answer, and what each of its layers makes of it, at every stroke."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from .. import data as datasets
from ..errors import GpugradError
from ..models import course_cnn
from .figure import Figure
from .network import check_network, device_of, percent, shown
from .page import script
from .still import INK, MUTED, drawing, text
from .words import pack, unpack

LEAD = "Draw with the mouse or a finger, or take one of the recorded digits. The network answers at every stroke."
NO_NUMBER = "The network gives no number (NaN): look for the first layer that is empty."


class Digit(Figure):
    """`image` is what is on the pad now, (28, 28) bytes."""

    _esm = script("network.js", "digit.js")
    choice = traitlets.Int(7, min=0, max=9).tag(sync=True)
    position = ("choice",)

    def __init__(self, model: Any, examples: np.ndarray, choice: int) -> None:
        self.model, self.examples = model, examples
        self.image = examples[choice]
        head = {
            "title": "Draw a digit", "lead": LEAD, "drawn": False, "examples": pack(examples.reshape(-1), "u1"),
            "caption": f"The numbers are the network's own, computed on {device_of(model)}.",
        }  # fmt: skip
        super().__init__(data={**head, **shown(model, self.image)}, choice=choice)
        self.on_msg(self._asked)

    def look(self, image: Any) -> None:
        """Put another image on the pad: (28, 28), of bytes 0 to 255 or of floats 0 to 1."""
        a = np.asarray(image)
        if a.shape != (28, 28):
            raise ValueError(f"digit: the image has shape {a.shape}; it must be (28, 28)")
        if a.dtype.kind not in "biuf":
            raise TypeError(f"digit: the image holds {a.dtype}; give bytes 0 to 255, or floats 0 to 1")
        most = 255 if a.dtype.kind in "iu" else 1
        if not ((a >= 0) & (a <= most)).all():
            raise ValueError(
                f"digit: the image holds {a.dtype} from {a.min()} to {a.max()}; whole numbers must be 0 to 255, floats "
                "0 to 1: divide by 255, or convert to bytes"
            )
        self.image = np.round(a.astype("f8") * (255 / most)).astype("u1")
        self.data = {**self.data, **shown(self.model, self.image), "drawn": True}

    def _asked(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        """What is on the pad, from the browser. The answer goes back as a message, to the view that asked."""
        if content.get("ask") != "image":
            return
        self.image = unpack({"type": "u1", "data": content["pixels"]})[:784].reshape(28, 28)
        try:
            answer: dict[str, Any] = {"seen": shown(self.model, self.image)}
        except (ValueError, TypeError, GpugradError) as error:
            answer = {"error": str(error)}
        self.send({**answer, "view": content.get("view")})

    def probabilities(self) -> np.ndarray:
        """The network's ten, of what is on the pad; NaN where it gives no number."""
        return np.array(shown(self.model, self.image)["probabilities"], "f8")

    def head(self) -> str:
        return "Draw a digit: the network's answer, and each of its layers"

    def describe(self) -> str:
        p = self.probabilities()
        if np.isnan(p).any():
            return NO_NUMBER
        first, second = np.argsort(-p, kind="stable")[:2]
        return f"The network says {first}: {percent(p[first])}. Next comes {second}: {percent(p[second])}."

    def first_frame(self) -> str:
        image, p = self.image, self.probabilities()
        out = [text(16, 28, "Draw a digit", 15, weight=650), text(16, 52, self.describe())]
        for y, x in zip(*np.nonzero(image), strict=True):
            out.append(f'<rect x="{16 + 7 * x}" y="{68 + 7 * y}" width="7" height="7" fill="{INK}" '
                       f'fill-opacity="{image[y, x] / 255:.2f}"/>')  # fmt: skip
        out.append(f'<rect x="16" y="68" width="196" height="196" fill="none" stroke="{MUTED}"/>')
        for d in range(10):
            y = 68 + 20 * d
            out.append(text(252, y + 13, str(d), mono=True))
            wide = 200 * np.nan_to_num(p[d])
            out.append(f'<rect x="268" y="{y + 3}" width="{wide + 1:.0f}" height="12" fill="{INK}"/>')
            out.append(text(276 + wide, y + 13, percent(p[d]), 11, MUTED))
        return drawing(560, 284, self.describe(), out)

    def state(self) -> dict[str, Any]:
        store = {str(d): shown(self.model, image) for d, image in enumerate(self.examples)}
        return {**super().state(), "store": store}


def digit(model: Any = None, choice: int = 7) -> Digit:
    """A pad to draw a digit on, and what the network makes of it: probabilities, and each layer's activations.

    model: a `nn.Sequential` from (N, 1, 28, 28) to (N, 10); without it the course's CNN with its trained weights.
    choice: the recorded test digit to begin with, 0 to 9. `.look(image)` puts an image on the pad. A page that
    `save` writes knows the ten recorded digits; drawing needs the device.
    """
    if not (isinstance(choice, (int, np.integer)) and not isinstance(choice, bool) and 0 <= choice <= 9):
        raise ValueError(f"digit: choice is {choice!r}; it is a digit, 0 to 9")
    model = course_cnn(pretrained=True) if model is None else model
    check_network("digit", model)
    test = datasets.mnist(train=False, source="subset")
    examples = np.stack([test.images[np.flatnonzero(test.labels == d)[0]] for d in range(10)])
    return Digit(model, examples, choice)
