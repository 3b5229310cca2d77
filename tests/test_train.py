"""`gpugrad train`: what it leaves behind, stopping and going on, and wrong requests."""

import os
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from sampling import some

import gpugrad as gg
from gpugrad import cli, train
from gpugrad.data import mnist
from gpugrad.errors import DataError
from gpugrad.models import course_cnn
from gpugrad.train import Run, Settings
from gpugrad.viz.plots import curve, gallery


def write_idx(path, array):
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


@pytest.fixture(scope="module")
def few_digits(tmp_path_factory):
    """A folder in MNIST's format with 500 training and 200 test digits of the subset."""
    folder = tmp_path_factory.mktemp("digits")
    for stem, is_train, n in (("train", True, 500), ("t10k", False, 200)):
        digits = mnist(is_train, "subset")
        write_idx(folder / f"{stem}-images-idx3-ubyte", digits.images[:n])
        write_idx(folder / f"{stem}-labels-idx1-ubyte", digits.labels[:n])
    return folder


def command(*arguments, **kwargs):
    line = [sys.executable, "-m", "gpugrad.cli", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, **kwargs)


@pytest.fixture(scope="module")
def trained(few_digits, tmp_path_factory):
    """What `gpugrad train` printed for 2 epochs on the few digits, and the folder it wrote."""
    out = tmp_path_factory.mktemp("out") / "new" / "folder"
    done = command("train", "--data", few_digits, "--epochs", 2, "--batch-size", 50, "--out", out)
    assert done.returncode == 0, done.stderr
    return done.stdout, out


def small(few_digits, **settings):
    return Run(Settings(**{"data": str(few_digits), "epochs": 3, "batch_size": 100, **settings}))


def weights(run):
    return {name: t.numpy() for name, t in run.model.state_dict().items()}


def no_look(batches, loss):
    pass


# a run


def test_train_says_which_data_network_and_device_it_uses(trained, few_digits):
    said, _ = trained
    assert f"Training on 500 training images from {few_digits}, not the original MNIST by checksum." in said
    assert f"Testing on 200 test images from {few_digits}" in said
    assert "215,370 parameters, on " in said


def test_train_prints_loss_and_accuracy_of_each_epoch_and_gets_better(trained):
    lines = [line for line in trained[0].splitlines() if line.startswith("epoch ")]
    assert [line.split(":")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    accuracies = [float(line.split("accuracy ")[1].split(" %")[0]) for line in lines]
    # guessing has loss 2.3 and accuracy 10 %; ten steps of Adam are far from that
    assert losses[0] < 2.3 and losses[1] < losses[0] and accuracies[1] > 50


def test_train_leaves_weights_two_pictures_a_checkpoint_and_nothing_else(trained):
    _, out = trained
    names = sorted(p.name for p in out.iterdir())
    assert names == ["checkpoint.safetensors", "curve.png", "mistakes.png", "weights.safetensors"]
    for name in ("curve.png", "mistakes.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")


def test_the_weights_it_leaves_give_the_accuracy_it_printed(trained, few_digits):
    said, out = trained
    model = course_cnn()
    model.load_state_dict(gg.load(out / "weights.safetensors"))
    images, labels = mnist(False, few_digits)[:]
    with gg.no_grad():
        right = (model(gg.tensor(images)).argmax(dim=1).numpy() == labels).mean()
    assert f"test accuracy {100 * right:.2f} %" in said.splitlines()[-3]


def test_a_finished_run_resumed_only_writes_its_files_again(trained):
    _, out = trained
    before = (out / "weights.safetensors").read_bytes()
    done = command("train", "--resume", "--out", out)
    assert done.returncode == 0 and "Going on after epoch 2 of 2." in done.stdout
    assert "epoch 3" not in done.stdout
    assert (out / "weights.safetensors").read_bytes() == before


def test_same_seed_same_result_and_another_seed_another(few_digits):
    results = []
    for seed in (1, 1, 2):
        run = small(few_digits, seed=seed)
        run.epoch(no_look)
        results.append((weights(run), run.history.loss))
    (a, loss_a), (b, loss_b), (c, _) = results
    assert loss_a == loss_b
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])
    assert not np.array_equal(a["0.weight"], c["0.weight"])


def test_the_learning_rate_falls_linearly_to_nothing(few_digits):
    run = small(few_digits, epochs=2, lr=1e-3)
    rates = []
    for _ in range(2):
        rates.append(run.optimizer.param_groups[0]["lr"])
        run.epoch(no_look)
    rates.append(run.optimizer.param_groups[0]["lr"])
    np.testing.assert_allclose(rates, [1e-3, 5e-4, 0], atol=1e-12)


def test_the_loss_is_the_mean_over_all_digits_though_the_last_batch_is_short(few_digits, monkeypatch):
    run = small(few_digits, batch_size=300, epochs=1, lr=1e-30)  # so small that no weight changes
    run.epoch(no_look)
    images, labels = run.train_set[:]
    with gg.no_grad():
        mean = gg.nn.functional.cross_entropy(run.model(gg.tensor(images)), gg.tensor(labels)).item()
    assert run.history.loss[0] == pytest.approx(mean, rel=1e-5)  # float32 sums of 500


# stopping and going on


def test_a_run_stopped_and_resumed_ends_exactly_where_an_unbroken_one_does(few_digits, tmp_path):
    whole = small(few_digits)
    for _ in range(3):
        whole.epoch(no_look)

    first = small(few_digits)
    first.epoch(no_look)
    gg.save(first.state(), tmp_path / "c")
    gg.manual_seed(999)  # whatever happened in between
    gg.rand(5)
    rest = Run.resumed(tmp_path / "c")
    assert rest.done == 1
    for _ in range(2):
        rest.epoch(no_look)

    for name, value in weights(whole).items():
        np.testing.assert_array_equal(value, weights(rest)[name], err_msg=name)
    for key in ("steps", "loss", "accuracy"):
        assert [*map(tuple, rest.history.steps)] == whole.history.steps
        assert getattr(rest.history, key)[-1] == pytest.approx(getattr(whole.history, key)[-1], abs=0)


def test_a_run_in_half_stores_half_and_goes_on_where_it_stopped(few_digits, tmp_path):
    whole = small(few_digits, epochs=2, dtype="float16")
    whole.epoch(no_look)
    whole.epoch(no_look)
    first = small(few_digits, epochs=2, dtype="float16")
    first.epoch(no_look)
    gg.save(first.state(), tmp_path / "c")
    rest = Run.resumed(tmp_path / "c")
    assert rest.settings.dtype == "float16" and rest.scaler.get_scale() == first.scaler.get_scale()
    rest.epoch(no_look)
    for name, half in weights(whole).items():
        assert half.dtype == np.float16
        np.testing.assert_array_equal(weights(rest)[name], half)
    assert rest.history.accuracy == whole.history.accuracy and whole.history.accuracy[-1] > 0.5


def test_ctrl_c_in_an_epoch_leaves_the_epochs_before_it(few_digits, tmp_path, monkeypatch, capsys):
    epoch = Run.epoch

    def interrupted(self, look):
        if self.done == 1:
            raise KeyboardInterrupt
        epoch(self, look)

    monkeypatch.setattr(Run, "epoch", interrupted)
    arguments = ["train", "--data", str(few_digits), "--epochs", "2", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 130
    assert f"Go on with: gpugrad train --resume --out {tmp_path / 'out'}" in capsys.readouterr().out
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["checkpoint.safetensors"]
    assert len(gg.load(tmp_path / "out" / "checkpoint.safetensors")["history"]["accuracy"]) == 1


def test_a_first_ctrl_c_waits_for_the_next_look_and_a_second_does_not():
    before = signal.getsignal(signal.SIGINT)

    def asked_twice():
        with train._ctrl_c_waits() as stop_if_asked:
            stop_if_asked()
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                stop_if_asked()
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the second one waits, too")

    with pytest.raises(KeyboardInterrupt):
        asked_twice()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_ctrl_c_after_the_last_look_is_raised_at_the_end():
    def asked_late():
        with train._ctrl_c_waits():
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        asked_late()


@pytest.mark.skipif(os.name == "nt", reason="SIGINT as a terminal sends it")
def test_a_real_ctrl_c_ends_with_130_and_leaves_no_broken_file(few_digits, tmp_path):
    line = [sys.executable, "-m", "gpugrad.cli", "train", "--data", str(few_digits), "--epochs", "1000"]
    process = subprocess.Popen([*line, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    limit = time.monotonic() + 240
    while not (tmp_path / "checkpoint.safetensors").exists() and process.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint.safetensors"]
    assert gg.load(tmp_path / "checkpoint.safetensors")["settings"]["epochs"] == 1000


def broken_checkpoints(folder):
    gg.save({"x": gg.zeros(3)}, folder / "tensors")
    gg.save({"settings": {}}, folder / "no state")
    gg.save({"settings": {"evil": 1}}, folder / "other settings")
    gg.save({"settings": [1, 2]}, folder / "settings of another kind")
    gg.save({"settings": {"epochs": "many"}}, folder / "settings that are words")
    (folder / "text").write_bytes(b"hello")
    return sorted(folder.iterdir())


def test_a_file_that_is_no_checkpoint_is_refused_in_a_sentence(tmp_path, capsys):
    for path in broken_checkpoints(tmp_path):
        path.rename(tmp_path / "checkpoint.safetensors")
        assert cli.main(["train", "--resume", "--out", str(tmp_path)]) == 1, path
        assert "checkpoint.safetensors" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["model", "optimizer", "schedule", "generator", "history"])
def test_a_checkpoint_whose_part_is_of_something_else_is_refused(few_digits, tmp_path, part):
    state = small(few_digits).state()
    gg.save({**state, part: {"x": 1}}, tmp_path / "c")
    with pytest.raises(DataError, match="is not a checkpoint of this version"):
        Run.resumed(tmp_path / "c")


@pytest.mark.parametrize(
    "change",
    [
        {"accuracy": None},
        {"accuracy": ["x"]},
        {"loss": [0.5, 0.25]},
        {"seconds": [True]},
        {"steps": [1.0]},
        {"steps": [(0.5, None)]},
        {"loss": [], "accuracy": [], "seconds": []},  # the weights, and the schedule, are of one epoch later
    ],
)
def test_a_checkpoint_with_another_history_is_refused(few_digits, tmp_path, change):
    run = small(few_digits)
    run.epoch(lambda *_: None)
    state = run.state()
    gg.save(state, tmp_path / "right")
    assert Run.resumed(tmp_path / "right").done == 1
    gg.save({**state, "history": {**state["history"], **change}}, tmp_path / "wrong")
    with pytest.raises(DataError, match=r"is not a checkpoint of this version .*: its (history|schedule)"):
        Run.resumed(tmp_path / "wrong")


def test_a_checkpoint_without_sources_is_refused(few_digits, tmp_path):
    gg.save({**small(few_digits).state(), "source": []}, tmp_path / "c")
    with pytest.raises(DataError, match="is not a checkpoint of this version"):
        Run.resumed(tmp_path / "c")


def test_resume_without_a_checkpoint_says_to_train_first(tmp_path, capsys):
    assert cli.main(["train", "--resume", "--out", str(tmp_path)]) == 1
    assert "train without --resume first" in capsys.readouterr().err


def test_resume_refuses_other_data_than_the_run_began_with(few_digits, tmp_path):
    state = small(few_digits).state()
    state["source"][0] = "all 60,000 MNIST digits"
    gg.save(state, tmp_path / "c")
    with pytest.raises(DataError, match="was trained on all 60,000 MNIST digits, and now there are 500"):
        Run.resumed(tmp_path / "c")


def test_resume_refuses_a_setting_that_differs_and_takes_one_that_does_not(trained, capsys):
    _, out = trained
    assert cli.main(["train", "--resume", "--out", str(out), "--batch-size", "64"]) == 1
    assert "this run began with --batch-size 50; --resume goes on so" in capsys.readouterr().err
    assert cli.main(["train", "--resume", "--out", str(out), "--batch-size", "50"]) == 0


# wrong requests


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--epochs", "0"], "epochs is 0"),
        (["--batch-size", "0"], "batch_size is 0"),
        (["--lr", "0"], "lr is 0.0"),
        (["--lr", "nan"], "lr is nan"),
        (["--dtype", "float64"], "dtype is 'float64'; it must be float32 or float16"),
        (["--data", "nowhere"], "source is 'nowhere'"),
        (["--device", "nothing like it"], "no device is of that kind or name"),
    ],
)
def test_a_wrong_argument_is_refused_in_a_sentence(arguments, says, capsys, tmp_path):
    assert cli.main(["train", "--out", str(tmp_path / "out"), *arguments]) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_data_that_the_network_cannot_take_are_refused(tmp_path, capsys):
    for stem in ("train", "t10k"):
        write_idx(tmp_path / f"{stem}-images-idx3-ubyte", np.zeros((3, 5, 5), np.uint8))
        write_idx(tmp_path / f"{stem}-labels-idx1-ubyte", np.array([0, 1, 10], np.uint8))
    assert cli.main(["train", "--data", str(tmp_path)]) == 1
    assert "takes images of (28, 28) and labels 0 to 9" in capsys.readouterr().err


def test_full_data_without_a_network_names_the_subset(monkeypatch, tmp_path, capsys):
    module = sys.modules["gpugrad.data.mnist"]
    monkeypatch.delenv("GPUGRAD_DATA", raising=False)
    monkeypatch.setattr(module, "MIRRORS", ("http://127.0.0.1:9/",))
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    assert cli.main(["train", "--data", "full"]) == 1
    assert "gpugrad train --data subset" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_made_is_said(few_digits, tmp_path, capsys):
    (tmp_path / "file").touch()
    for out in ("file", "file/out"):
        assert cli.main(["train", "--data", str(few_digits), "--out", str(tmp_path / out)]) == 1
        said = capsys.readouterr()
        assert f"out is {str(tmp_path / out)!r}, where no file can be written" in said.err
        assert "Training" not in said.out


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write into any folder")
def test_an_output_folder_that_takes_no_files_is_said_before_the_training(few_digits, tmp_path, capsys):
    tmp_path.chmod(0o555)
    try:
        assert cli.main(["train", "--data", str(few_digits), "--out", str(tmp_path)]) == 1
    finally:
        tmp_path.chmod(0o755)
    said = capsys.readouterr()
    assert "where no file can be written (Permission denied)" in said.err
    assert "Training" not in said.out


def test_a_training_without_any_terminal_has_no_bar_and_ends(few_digits, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)  # as under a service, or with 2>&-
    run = Run(Settings(data=str(few_digits), epochs=1))
    train.train(run, tmp_path)
    assert (tmp_path / "weights.safetensors").exists()


# pictures


def test_the_curve_shows_every_looked_at_batch_and_each_epochs_accuracy():
    figure = curve([(0.5, 1.0), (1.0, 0.5), (1.5, 0.25), (2.0, 0.1)], [0.9, 0.95], "title")
    left, right = figure.axes
    np.testing.assert_array_equal(left.lines[0].get_xydata(), [(0.5, 1.0), (1.0, 0.5), (1.5, 0.25), (2.0, 0.1)])
    np.testing.assert_allclose(left.lines[1].get_ydata(), [1, 0.75, 0.58333333, 0.4625])
    np.testing.assert_array_equal(right.lines[0].get_xydata(), [(1, 90), (2, 95)])
    assert [t.get_text() for t in right.texts] == ["90.00 %", "95.00 %"]


@pytest.mark.parametrize("epochs", [1, 5])
def test_the_curves_axes_say_what_they_count_in_whole_epochs_and_plain_numbers(epochs):
    figure = curve([(i / 8, 0.9**i) for i in range(8 * epochs)], [0.9] * epochs, "title")
    figure.canvas.draw()
    left, right = figure.axes
    assert left.get_xlabel() == "epochs gone by (one is once through the training digits)"
    assert right.get_xlabel() == "after epoch"
    for axes in (left, right):
        assert all(float(t).is_integer() for t in axes.get_xticks())
    shown = [t.get_text() for t in left.get_yticklabels()]
    assert {"0.5", "1"} <= set(shown) and not any("^" in t for t in shown)


def test_the_gallery_shows_the_wrong_digits_the_surest_first():
    images = np.arange(4 * 6, dtype=np.uint8).reshape(4, 2, 3)
    probabilities = np.zeros((4, 10), np.float32)
    probabilities[[0, 1, 2, 3], [7, 1, 5, 3]] = [0.6, 1.0, 0.9, 0.8]
    figure = gallery(images, np.array([2, 1, 4, 3]), probabilities)
    (axes,) = figure.axes
    np.testing.assert_array_equal([shown.get_array() for shown in axes.images], images[[2, 0]])
    assert [t.get_text() for t in axes.texts] == ["4 → 5", "90 %", "2 → 7", "60 %"]
    assert figure.texts[0].get_text() == "2 of 4 test digits are wrong"


@pytest.mark.parametrize("wrong, says", [(0, "0 of 70 test digits are wrong"), (70, "here are the 60")])
def test_the_gallery_of_none_and_of_too_many(tmp_path, wrong, says):
    labels = np.zeros(70, int)
    probabilities = np.eye(10)[labels + (np.arange(70) < wrong)]
    figure = gallery(np.zeros((70, 28, 28), np.uint8), labels, probabilities)
    assert says in figure.texts[0].get_text()
    assert len(figure.axes[0].images) == min(wrong, 60)
    figure.savefig(tmp_path / "g.png")


# the weights that ship, and the main job


def test_the_weights_that_ship_read_99_of_100_digits():
    images, labels = mnist(False, "subset")[:]
    with gg.no_grad():
        said = course_cnn(pretrained=True)(gg.tensor(images)).argmax(dim=1).numpy()
    assert (said == labels).mean() >= 0.99


@pytest.mark.deep
@pytest.mark.parametrize("seed", some([0, 1, 2], every=3))
def test_the_course_network_reaches_97_percent_on_the_shipped_digits(seed, tmp_path):
    done = command("train", "--seed", seed, "--out", tmp_path)
    last = [line for line in done.stdout.splitlines() if line.startswith("epoch 5/5")]
    assert float(last[0].split("accuracy ")[1].split(" %")[0]) >= 97.0


def test_modules_of_the_training_are_loaded_only_when_needed():
    code = "import sys, gpugrad.cli; print({'tqdm', 'matplotlib', 'pooch', 'pyopencl'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
