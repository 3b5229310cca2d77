"""Data: idx files, MNIST's sources, batches. The device is used only where DataLoader makes tensors."""

import gzip
import hashlib
import http.server
import importlib
import struct
import threading
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpugrad as gg
from gpugrad.data import DataLoader, ImageDataset, TensorDataset, mnist, read_idx
from gpugrad.errors import DataError
from gpugrad.generator import Generator

# The name gpugrad.data.mnist is the function.
mnist_module = importlib.import_module("gpugrad.data.mnist")


def idx_bytes(array):
    code = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}[array.dtype.str[1:]]
    big = array.astype(array.dtype.newbyteorder(">"))
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + big.tobytes()


def write_four(folder, train=7, test=3, packed=False, dotted=False):
    """A folder in MNIST's format: `train` and `test` images of 5 x 4 with random pixels."""
    random = np.random.RandomState(0)
    arrays = {}
    for stem, n in (("train", train), ("t10k", test)):
        arrays[f"{stem}-images-idx3-ubyte"] = random.randint(0, 256, (n, 5, 4)).astype(np.uint8)
        arrays[f"{stem}-labels-idx1-ubyte"] = random.randint(0, 10, n).astype(np.uint8)
    for name, array in arrays.items():
        path = folder / (name.replace("-idx", ".idx") if dotted else name)
        if packed:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(idx_bytes(array)))
        else:
            path.write_bytes(idx_bytes(array))
    return arrays


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    """No test sees the user's data or cache."""
    monkeypatch.delenv("GPUGRAD_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(mnist_module, "cache_folder", lambda: tmp_path / "cache" / "mnist")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


# idx files


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("packed", [False, True])
def test_read_idx_gives_back_what_was_written(tmp_path, dtype, packed):
    array = (np.random.RandomState(1).randn(3, 5, 7) * 50).astype(dtype)
    data = idx_bytes(array)
    (tmp_path / "a").write_bytes(gzip.compress(data) if packed else data)
    got = read_idx(tmp_path / "a")
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


def test_read_idx_takes_an_empty_array(tmp_path):
    (tmp_path / "a").write_bytes(idx_bytes(np.zeros((0, 28, 28), np.uint8)))
    assert read_idx(tmp_path / "a").shape == (0, 28, 28)


GOOD = idx_bytes(np.arange(12, dtype=np.uint8).reshape(3, 4))
PACKED = gzip.compress(GOOD, mtime=0)  # the same bytes in every process


@pytest.mark.parametrize(
    "data, says",
    [
        (b"", "cut short: 4 bytes wanted, 0 there"),
        (b"\x1f\x8b", "cannot be read"),
        (b"<html>not found</html>", "is not an idx file: it starts with 3c 68 74 6d"),
        (b"\1\0" + GOOD[2:], "is not an idx file"),
        (b"\0\0\7" + GOOD[3:], "is not an idx file"),
        (b"\0\0\x08\0" + GOOD[4:], "1 to 8 axes"),
        (b"\0\0\x08\xff" + b"\1" * 1020, "1 to 8 axes"),
        (GOOD[:9], "cut short: 8 bytes wanted, 5 there"),
        (GOOD[:-1], "cut short: 12 bytes wanted, 11 there"),
        (GOOD + b"\0", "goes on after its 12 bytes"),
        (b"\0\0\x08\3" + b"\xff" * 12, "is refused"),
        (b"\0\0\x0e\2" + struct.pack(">2I", 1 << 16, 1 << 14), "8,589,934,592 bytes"),
        (PACKED[:-9], "cannot be read"),
        (gzip.compress(GOOD[:-1], mtime=0), "cut short"),
        (PACKED[:-8] + bytes(8), "cannot be read"),
    ],
)
def test_read_idx_refuses_a_broken_file_and_says_why(tmp_path, data, says):
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(DataError, match=says) as error:
        read_idx(tmp_path / "bad")
    assert str(tmp_path / "bad") in str(error.value)


def test_read_idx_names_a_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"none.*cannot be read"):
        read_idx(tmp_path / "none")


@pytest.mark.parametrize("claimed", [100, 1 << 30])
def test_read_idx_uses_no_memory_for_what_a_file_only_claims(tmp_path, claimed):
    import tracemalloc

    head = b"\0\0\x08\1" + struct.pack(">I", claimed)
    # 32 MiB of zeros behind a header that claims 100 bytes; nothing behind one that claims a GiB
    (tmp_path / "bomb").write_bytes(gzip.compress(head + bytes(1 << 25) if claimed == 100 else head))
    tracemalloc.start()
    with pytest.raises(DataError):
        read_idx(tmp_path / "bomb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_read_idx_of_mangled_bytes_gives_an_array_or_a_data_error(tmp_path_factory, data):
    mangled = bytearray(PACKED if data.draw(st.booleans()) else GOOD)
    for _ in range(data.draw(st.integers(1, 6))):
        mangled[data.draw(st.integers(0, len(mangled) - 1))] = data.draw(st.integers(0, 255))
    mangled = mangled[: data.draw(st.integers(0, len(mangled)))]
    path = tmp_path_factory.getbasetemp() / "mangled"
    path.write_bytes(mangled)
    try:
        assert isinstance(read_idx(path), np.ndarray)
    except DataError:
        pass


# the shipped digits


def test_the_shipped_digits_are_the_ones_their_provenance_describes():
    path = mnist_module.SUBSET
    text = path.with_name("PROVENANCE.md").read_text(encoding="utf-8")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in text
    assert path.with_name("LICENSE-MNIST.txt").read_text(encoding="utf-8").count("Attribution-ShareAlike 3.0")
    for raw in (raw for _, raw in mnist_module.SHA256.values()):
        assert raw in text
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


@pytest.mark.parametrize("train, n", [(True, 10_000), (False, 2_000)])
def test_subset_has_balanced_digits_and_every_run_of_ten_holds_each_once(train, n):
    digits = mnist(train, "subset")
    assert digits.images.shape == (n, 28, 28) and digits.images.dtype == np.uint8
    assert (np.sort(digits.labels.reshape(-1, 10), axis=1) == np.arange(10)).all()
    assert len({image.tobytes() for image in digits.images}) == n
    assert "ship with gpugrad" in digits.source and f"{n:,}" in digits.source


def test_subset_holds_no_test_digit_among_the_training_digits():
    train, test = ({i.tobytes() for i in mnist(t, "subset").images} for t in (True, False))
    assert not train & test


# where MNIST comes from


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dotted", [False, True])
@pytest.mark.parametrize("how", ["path", "str", "environment"])
def test_a_folder_of_idx_files_is_read(tmp_path, monkeypatch, packed, dotted, how):
    arrays = write_four(tmp_path, packed=packed, dotted=dotted)
    source = {"path": tmp_path, "str": str(tmp_path), "environment": "full"}[how]
    if how == "environment":
        monkeypatch.setenv("GPUGRAD_DATA", str(tmp_path))
    for train, stem in ((True, "train"), (False, "t10k")):
        digits = mnist(train, source)
        np.testing.assert_array_equal(digits.images, arrays[f"{stem}-images-idx3-ubyte"])
        np.testing.assert_array_equal(digits.labels, arrays[f"{stem}-labels-idx1-ubyte"])
        assert str(tmp_path) in digits.source and "not the original MNIST" in digits.source


def test_a_folder_with_the_original_files_is_said_to_be_the_original(tmp_path, monkeypatch):
    arrays = write_four(tmp_path)
    known = {name: ("", hashlib.sha256(idx_bytes(a)).hexdigest()) for name, a in arrays.items()}
    monkeypatch.setattr(mnist_module, "SHA256", known)
    assert "the original MNIST by checksum" in mnist(True, tmp_path).source
    with open(tmp_path / "train-labels-idx1-ubyte", "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x63")
    assert "not the original MNIST by checksum" in mnist(True, tmp_path).source


def test_auto_takes_the_folder_then_the_cache_then_the_subset(tmp_path, monkeypatch):
    assert "ship with gpugrad" in mnist(source="auto").source
    cache = tmp_path / "cache" / "mnist"
    cache.mkdir(parents=True)
    arrays = write_four(cache, packed=True)
    know(monkeypatch, cache, arrays)
    monkeypatch.setattr(mnist_module, "MIRRORS", ("http://127.0.0.1:9/none/",))
    assert mnist(source="auto").source == f"all 7 MNIST training digits, from {cache}"
    (cache / "t10k-labels-idx1-ubyte.gz").unlink()
    assert "ship with gpugrad" in mnist(source="auto").source
    write_four(tmp_path)
    monkeypatch.setenv("GPUGRAD_DATA", str(tmp_path))
    assert str(tmp_path) in mnist(source="auto").source


def test_a_folder_that_lacks_a_file_is_an_error_and_never_other_data(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUGRAD_DATA", str(tmp_path))
    for source in ("auto", "full"):
        with pytest.raises(DataError, match=r'GPUGRAD_DATA is .*no train-images-idx3-ubyte.*source="subset"'):
            mnist(source=source)
    with pytest.raises(DataError, match="t10k-images"):
        mnist(False, tmp_path)


@pytest.mark.parametrize("source", ["ful", "/no/such/folder", 3, None])
def test_an_unknown_source_is_refused(source):
    with pytest.raises(ValueError, match="'auto', 'subset', 'full' or a folder"):
        mnist(source=source)


def test_images_and_labels_that_do_not_go_together_are_refused(tmp_path):
    write_four(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(6, np.uint8)))
    with pytest.raises(DataError, match=r"do not go together: .* \(7,\), one for each image"):
        mnist(True, tmp_path)


# the download, from mirrors on this machine


def know(monkeypatch, folder, arrays):
    """Make the checksums of these files the expected ones."""
    sums = {}
    for name, array in arrays.items():
        packed = (folder / f"{name}.gz").read_bytes()
        sums[name] = (hashlib.sha256(packed).hexdigest(), hashlib.sha256(idx_bytes(array)).hexdigest())
    monkeypatch.setattr(mnist_module, "SHA256", sums)


@pytest.fixture
def mirrors(tmp_path, monkeypatch):
    """A server whose paths /good/, /wrong/, /short/, /gone/ are mirrors of that quality."""
    folder = tmp_path / "server"
    folder.mkdir()
    arrays = write_four(folder, packed=True)
    know(monkeypatch, folder, arrays)
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            _, quality, name = self.path.split("/")
            body = (folder / name).read_bytes()
            self.send_response(404 if quality == "gone" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write({"wrong": bytes(len(body)), "short": body[: len(body) // 2]}.get(quality, body))

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()

    def use(*qualities):
        monkeypatch.setattr(
            mnist_module, "MIRRORS", tuple(f"http://127.0.0.1:{server.server_port}/{q}/" for q in qualities)
        )
        return asked, arrays

    yield use
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("bad", ["wrong", "short", "gone"])
def test_download_goes_on_to_the_next_mirror(mirrors, bad, tmp_path):
    asked, arrays = mirrors(bad, "good")
    digits = mnist(True, "full")
    np.testing.assert_array_equal(digits.images, arrays["train-images-idx3-ubyte"])
    assert digits.source.startswith("all 7 MNIST training digits, from ")
    assert [path.split("/")[1] for path in asked] == [bad, "good"] * 2
    assert sorted(p.name for p in (tmp_path / "cache" / "mnist").iterdir()) == [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
    ]


def test_a_file_is_downloaded_once_and_again_when_the_cache_is_damaged(mirrors, tmp_path):
    asked, arrays = mirrors("good")
    mnist(True, "full")
    mnist(True, "full")
    assert len(asked) == 2
    (tmp_path / "cache" / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"damaged")
    np.testing.assert_array_equal(mnist(True, "full").images, arrays["train-images-idx3-ubyte"])
    assert len(asked) == 3


def test_when_no_mirror_serves_the_error_tells_why_and_what_to_do(mirrors, tmp_path):
    mirrors("wrong", "gone", "short")
    with pytest.raises(DataError) as error:
        mnist(True, "full")
    said = str(error.value)
    for words in ("127.0.0.1", "wrong checksum", "HTTP 404", 'source="subset"', "GPUGRAD_DATA"):
        assert words in said
    assert list((tmp_path / "cache" / "mnist").iterdir()) == []


def test_without_a_network_the_error_is_one_sentence_that_names_the_subset(monkeypatch):
    monkeypatch.setattr(mnist_module, "MIRRORS", ("http://127.0.0.1:9/mnist/",))
    with pytest.raises(DataError, match=r'could not be downloaded.*source="subset"') as error:
        mnist(True, "full")
    assert "\n" not in str(error.value)


def test_a_packed_file_with_the_right_sum_but_other_contents_is_refused(mirrors, monkeypatch):
    mirrors("good")
    sums = {name: (packed, "0" * 64) for name, (packed, _) in mnist_module.SHA256.items()}
    monkeypatch.setattr(mnist_module, "SHA256", sums)
    with pytest.raises(DataError, match="does not unpack to MNIST's train-images"):
        mnist(True, "full")


# samples and batches


def test_a_sample_is_a_float_image_between_0_and_1_and_an_int():
    pixels, labels = np.array([[[0, 255, 51]], [[1, 2, 3]]], np.uint8), np.array([7, 1], np.uint8)
    digits = ImageDataset(pixels, labels, "two")
    image, label = digits[0]
    assert image.dtype == np.float32 and image.shape == (1, 1, 3) and label == 7 and type(label) is int
    np.testing.assert_array_equal(image[0, 0], np.float32([0, 1, 51 / 255]))
    images, labels = digits[:2]
    assert images.shape == (2, 1, 1, 3) and labels.dtype == np.int32 and labels.tolist() == [7, 1]
    assert repr(digits) == "<ImageDataset: 2 images of 1 x 3; two>"


def pairs(n):
    return TensorDataset(np.arange(n, dtype=np.float32), np.arange(n, dtype=np.int32))


def epoch(loader):
    return [batch[1].numpy().tolist() for batch in loader]


def test_loader_yields_tensors_of_the_right_types():
    for images, labels in DataLoader(mnist(False, "subset"), batch_size=1000):
        assert images.shape == (1000, 1, 28, 28) and images.dtype == gg.float32
        assert labels.shape == (1000,) and labels.dtype == gg.int32


def test_loader_in_order_keeps_the_last_short_batch_unless_told_to_drop_it():
    assert epoch(DataLoader(pairs(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert epoch(DataLoader(pairs(7), 3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert [len(DataLoader(pairs(n), 3)) for n in (0, 1, 3, 7)] == [0, 1, 1, 3]
    assert [len(DataLoader(pairs(n), 3, drop_last=True)) for n in (0, 1, 3, 7)] == [0, 0, 1, 2]
    assert epoch(DataLoader(pairs(0), 3)) == []


def shuffled(seed, n=50, batch_size=50):
    return DataLoader(pairs(n), batch_size, shuffle=True, generator=Generator(seed))


def test_loader_shuffles_anew_each_epoch_and_the_same_for_the_same_seed():
    one, two = shuffled(3), shuffled(3)
    first, second = epoch(one)[0], epoch(one)[0]
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second and first != list(range(50))
    assert [epoch(two)[0], epoch(two)[0]] == [first, second]
    assert epoch(shuffled(4))[0] != first


def test_loader_goes_on_from_its_generators_state():
    whole, rest = shuffled(2**40 + 1, batch_size=7), shuffled(0, batch_size=7)
    epoch(whole)
    rest.generator.set_state(whole.generator.get_state())
    assert epoch(rest) == epoch(whole)


def test_loader_order_is_pinned_so_that_no_release_changes_it():
    assert epoch(shuffled(0, 8)) == [[3, 5, 4, 2, 6, 7, 1, 0]]


def test_loader_without_a_generator_follows_manual_seed():
    orders = []
    for seed in (5, 5, 6):
        gg.manual_seed(seed)
        orders.append(epoch(DataLoader(pairs(50), 50, shuffle=True)))
    assert orders[0] == orders[1] != orders[2]


def test_samples_of_unequal_parts_are_refused_and_none_of_them_is_dropped():
    with pytest.raises(ValueError, match="samples of one batch have 1 and 2 parts"):
        next(iter(DataLoader([(1.0, 2), (1.0,)], 2)))


def test_loader_takes_any_sequence_of_samples():
    samples = [(np.full(3, i, np.float32), i, i / 2) for i in range(5)]
    x, label, half = next(iter(DataLoader(samples, 4)))
    np.testing.assert_array_equal(x.numpy(), np.repeat(np.arange(4, dtype=np.float32), 3).reshape(4, 3))
    assert label.dtype == gg.int32 and half.dtype == gg.float32 and half.numpy().tolist() == [0, 0.5, 1, 1.5]
    (only,) = next(iter(DataLoader([1, 2, 3], 3)))
    assert only.numpy().tolist() == [1, 2, 3]


def test_tensor_dataset_takes_tensors():
    data = TensorDataset(gg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), gg.tensor([0, 1, 2]))
    x, y = next(iter(DataLoader(data, 2)))
    assert x.numpy().tolist() == [[1, 2], [3, 4]] and y.numpy().tolist() == [0, 1]


@pytest.mark.parametrize(
    "arguments, error, says",
    [
        ({"dataset": 3}, TypeError, "dataset is int"),
        ({"batch_size": 0}, ValueError, "batch_size is 0"),
        ({"batch_size": 2.5}, TypeError, "batch_size is 2.5"),
        ({"batch_size": True}, TypeError, "batch_size is True"),
        ({"generator": 3}, TypeError, "generator is int"),
        ({"num_workers": 2}, ValueError, "num_workers is 2"),
        ({"pin_memory": True}, TypeError, "pin_memory"),
    ],
)
def test_loader_refuses_wrong_arguments_by_name(arguments, error, says):
    with pytest.raises(error, match=says):
        DataLoader(**{"dataset": pairs(3), **arguments})


def test_datasets_refuse_arrays_that_do_not_go_together():
    with pytest.raises(ValueError, match=r"shapes \(3,\), \(2,\)"):
        TensorDataset(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="no arrays"):
        TensorDataset()
    with pytest.raises(ValueError, match="images are float64"):
        ImageDataset(np.zeros((2, 3, 3)), np.zeros(2, np.uint8), "")
    with pytest.raises(ValueError, match=r"images are uint8 \(2, 1, 3, 3\)"):
        ImageDataset(np.zeros((2, 1, 3, 3), np.uint8), np.zeros(2, np.uint8), "")
    with pytest.raises(ValueError, match="labels are uint8"):
        ImageDataset(np.zeros((2, 3, 3), np.uint8), np.zeros(3, np.uint8), "")
