"""`gpugrad train`: the course's network on MNIST.

After each epoch the whole state is in OUT/checkpoint.safetensors: weights, the optimiser's moments, the schedule, the
loss's scale, the random generator, the history. `--resume` goes on from there, and ends where an unbroken run would
have ended.
"""

from __future__ import annotations

import io
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from . import Tensor, data, no_grad, optim
from .data import ImageDataset
from .device import current_device
from .dtypes import float32
from .errors import DataError
from .files import write_whole
from .generator import default_generator, manual_seed
from .models import course_cnn
from .nn import functional as F
from .serialize import load, save

DTYPES = ("float32", "float16")  # what weights and activations are stored in
_LOOK_EVERY = 10  # batches between two looks at the loss: each look waits for the device


@dataclass(frozen=True)
class Settings:
    """What decides the result of a run, on one device."""

    data: str = "subset"
    epochs: int = 5
    batch_size: int = 64
    lr: float = 2e-3
    seed: int = 0
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype is {self.dtype!r}; it must be {' or '.join(DTYPES)}")
        if self.epochs < 1:
            raise ValueError(f"epochs is {self.epochs}; it must be 1 or more")
        if not 0 < self.lr < float("inf"):
            raise ValueError(f"lr is {self.lr}; it must be a positive number")


@dataclass
class History:
    """What happened so far; accuracy is on the test digits, from 0 to 1."""

    steps: list[tuple[float, float]] = field(default_factory=list)  # (epochs gone by, loss of that batch)
    loss: list[float] = field(default_factory=list)  # the mean over each epoch
    accuracy: list[float] = field(default_factory=list)  # after each epoch
    seconds: list[float] = field(default_factory=list)  # of each epoch, the test included

    def check(self) -> None:
        """Raise ValueError where this, from a file, is no history."""
        epochs = (self.loss, self.accuracy, self.seconds)
        if not all(isinstance(part, list) for part in (self.steps, *epochs)):
            raise ValueError("its history is not made of lists")
        pairs = all(isinstance(step, tuple) and len(step) == 2 for step in self.steps)
        if not pairs or not all(type(x) in (int, float) for part in (*self.steps, *epochs) for x in part):
            raise ValueError("its history holds something else than numbers")
        if not len(self.loss) == len(self.accuracy) == len(self.seconds):
            raise ValueError("its history has not the same number of epochs everywhere")


class Run:
    """A training run, which `epoch()` takes one epoch further, and whose `state` is all it needs to go on."""

    def __init__(self, settings: Settings):
        self.settings, self.history = settings, History()
        self.train_set, self.test_set = digits(True, settings.data), digits(False, settings.data)
        manual_seed(settings.seed)
        self.model = course_cnn().to(settings.dtype)
        self.scaler = optim.GradScaler(enabled=settings.dtype == "float16")
        self.loader = data.DataLoader(self.train_set, settings.batch_size, shuffle=True)
        self.optimizer = optim.Adam(self.model.parameters(), lr=settings.lr)
        steps = settings.epochs * len(self.loader)
        self.schedule = optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.0, total_iters=steps)

    @property
    def done(self) -> int:
        """How many epochs are behind it."""
        return len(self.history.accuracy)

    def epoch(self, look: Callable[[int, float], None]) -> None:
        """Train on every digit once, then test. `look(batches, loss)` is called now and then, for a progress bar."""
        start = time.perf_counter()
        total = self._train(look)
        said = self.probabilities().argmax(axis=1)
        self.history.loss.append(total)
        self.history.accuracy.append(float((said == self.test_set.labels).mean()))
        self.history.seconds.append(time.perf_counter() - start)

    def _train(self, look: Callable[[int, float], None]) -> float:
        self.model.train()
        total: Any = 0.0
        batches = len(self.loader)
        for i, (images, labels) in enumerate(self.loader, start=1):
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.logits(images), labels)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.schedule.step()
            with no_grad():
                total = loss.detach() * len(labels) + total
            if i % _LOOK_EVERY == 0 or i == batches:
                value = loss.item()
                self.history.steps.append((self.done + i / batches, value))
                look(i, value)
        return total.item() / len(self.train_set)

    def probabilities(self) -> np.ndarray:
        """What the network gives each digit, for each test image: float32 (N, 10)."""
        self.model.eval()
        with no_grad():
            batches = data.DataLoader(self.test_set, batch_size=500)
            return np.concatenate([F.softmax(self.logits(images), dim=1).numpy() for images, _ in batches])

    def logits(self, images: Tensor) -> Tensor:
        """The network's scores in float32; the network itself works in the run's dtype."""
        return self.model(images.to(self.settings.dtype)).to(float32)

    def state(self) -> dict[str, Any]:
        """All that decides what comes next: tensors, numbers and words."""
        return {
            "settings": asdict(self.settings),
            "source": [self.train_set.source, self.test_set.source],
            "history": asdict(self.history),
            "generator": default_generator.get_state(),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "scaler": self.scaler.state_dict(),
        }

    @staticmethod
    def resumed(path: Path) -> Run:
        """The run whose state a checkpoint holds."""
        if not path.is_file():
            raise DataError(f"there is no {path} to resume from; train without --resume first")
        state = load(path)
        try:
            run = Run(Settings(**state["settings"]))
            sources = [run.train_set.source, run.test_set.source]
            if state["source"] != sources:
                raise DataError(f"{path} was trained on {state['source'][0]}, and now there are {sources[0]}")
            run.history = History(**state["history"])
            run.history.check()
            run.model.load_state_dict(state["model"])
            run.optimizer.load_state_dict(state["optimizer"])
            run.schedule.load_state_dict(state["schedule"])
            run.scaler.load_state_dict(state["scaler"])
            default_generator.set_state(state["generator"])
            if run.schedule.last_epoch != run.done * len(run.loader):
                raise ValueError(
                    f"its schedule made {run.schedule.last_epoch} steps, and its history has {run.done} epochs"
                )
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{path} is not a checkpoint of this version of gpugrad train: {error}") from error
        return run


def digits(train: bool, source: str) -> ImageDataset:
    """MNIST, or other data of its format; DataError if the course's network cannot take them."""
    found = data.mnist(train, source)
    if found.images.shape[1:] != (28, 28) or len(found) == 0 or found.labels.max() > 9:
        raise DataError(
            f"{found.source}: {len(found)} images of {found.images.shape[1:]}, labels up to "
            f"{found.labels.max(initial=0)}; the course's network takes images of (28, 28) and labels 0 to 9"
        )
    return found


def train(run: Run, out: Path, show_bar: bool | None = None) -> None:
    """Take a run to its end, printing how it goes, and write weights, checkpoint and pictures into `out`.

    Ctrl-C (KeyboardInterrupt) leaves the last whole epoch's files. show_bar: None shows it in a terminal only.
    """
    settings = run.settings
    _make_folder(out)
    print(f"Training on {run.train_set.source}.\nTesting on {run.test_set.source}.")
    parameters = sum(p.array.size for p in run.model.parameters())
    stored = "" if settings.dtype == "float32" else f" in {settings.dtype}"
    print(f"The course's network, {parameters:,} parameters{stored}, on {current_device()}.\n", flush=True)
    hide = None if show_bar is None else not show_bar
    if sys.stderr is None:  # a program without a console
        hide = True
    with _ctrl_c_waits() as stop_if_asked:
        while run.done < settings.epochs:
            name = f"epoch {run.done + 1}/{settings.epochs}"
            with tqdm(total=len(run.loader), desc=name, unit=" batches", leave=False, disable=hide) as bar:

                def look(batches: int, loss: float, bar: Any = bar) -> None:
                    stop_if_asked()
                    bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
                    bar.update(batches - bar.n)

                run.epoch(look)
            save(run.state(), out / "checkpoint.safetensors")
            history = run.history
            print(
                f"{name}: loss {history.loss[-1]:.4f}, test accuracy {100 * history.accuracy[-1]:.2f} %, "
                f"{history.seconds[-1]:.1f} s",
                flush=True,
            )
            stop_if_asked()
    save(run.model.state_dict(), out / "weights.safetensors")
    draw(run, out)
    print(f"\n{out}: weights.safetensors, curve.png, mistakes.png")


def _make_folder(out: Path) -> None:
    """Make `out`, and see now, and not after an epoch, that it takes files; DataError where it does not."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise DataError(
            f"out is {str(out)!r}, where no file can be written ({error.strerror}); name another folder"
        ) from error


@contextmanager
def _ctrl_c_waits() -> Iterator[Callable[[], None]]:
    """Ctrl-C is noted, and raised when the given function is called next, or the block ends; a second one, at once.

    Python drops a KeyboardInterrupt that comes while an object is cleaned up, and a step cleans up all the time.
    """
    asked = False

    def note(*_: Any) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def stop_if_asked() -> None:
        if asked:
            raise KeyboardInterrupt

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield stop_if_asked
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    stop_if_asked()


def draw(run: Run, out: Path) -> None:
    """The two pictures of a run."""
    from .viz.plots import curve, gallery

    history, test = run.history, run.test_set
    title = f"{100 * history.accuracy[-1]:.2f} % of {len(test):,} test digits right, after {run.done} epochs"
    figures = {
        "curve.png": curve(history.steps, history.accuracy, title),
        "mistakes.png": gallery(test.images, test.labels, run.probabilities()),
    }
    for name, figure in figures.items():
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=150)
        write_whole(out / name, png.getvalue())
