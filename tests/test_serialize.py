"""gg.save and gg.load: what goes in comes out; a bad file is one clear error and nothing more."""

from __future__ import annotations

import errno
import json
import os
import stat
import struct

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpugrad as gg


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def same(a, b):
    """Equal in value, type and dtype, tensors compared bit by bit."""
    if isinstance(a, (gg.Tensor, gg.Array, np.ndarray)):
        a, b = a.numpy() if not isinstance(a, np.ndarray) else a, b.numpy()
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (7,), (2, 3, 5)])
def test_tensors_of_every_dtype_come_back_bit_by_bit(device, path, rng, dtype, shape):
    value = gg.Tensor._wrap(gg.Array.from_numpy((rng.standard_normal(shape) * 100).astype(dtype)))
    gg.save({"x": value}, path)
    assert same({"x": value}, gg.load(path))


def test_nan_and_infinity_come_back(device, path):
    value = gg.tensor(np.array([np.nan, np.inf, -np.inf, -0.0], np.float32))
    gg.save({"x": value}, path)
    assert same({"x": value}, gg.load(path))


def test_nested_state_comes_back_in_order_with_its_types(device, path):
    state = {
        "z": gg.tensor([1.0, 2.0]),
        "model": {"a.weight": gg.tensor([[1.5]]), "b": np.arange(3, dtype=np.int32)},
        "optimizer": {
            "state": {0: {"step": 3, "m": gg.Array.from_numpy(np.ones(2, np.float32))}, 10: {}},
            "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "params": [0, 10], "nesterov": False}],
        },
        "history": {"loss": [0.5, float("inf"), float("nan")], "name": "π", "none": None, "big": 2**63},
    }
    gg.save(state, path)
    assert same(state, gg.load(path))


def test_names_that_meet_stay_apart(device, path):
    state = {
        "a": {"b": gg.tensor([1.0])},
        "a.b": gg.tensor([2.0]),
        "__metadata__": gg.tensor([3.0]),
        "": gg.tensor([4.0]),
    }
    gg.save(state, path)
    assert same(state, gg.load(path))


def test_an_empty_dict_comes_back(path):
    gg.save({}, path)
    assert gg.load(path) == {}


def test_other_programs_read_the_tensors(device, path):
    gg.save({"layer": {"weight": gg.tensor([[1.0, 2.0]])}, "epoch": 3}, path)
    found = safetensors.numpy.load_file(path)
    assert list(found) == ["layer.weight"] and (found["layer.weight"] == [[1, 2]]).all()


def test_files_of_other_programs_are_read(device, path):
    written = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([-1, 2**31 - 1])}
    safetensors.numpy.save_file(written, path)
    found = gg.load(path)
    assert (found["a"].numpy() == written["a"]).all()
    assert found["b"].dtype == np.int32 and found["b"].tolist() == [-1, 2**31 - 1]


def test_loaded_tensors_need_no_gradient_and_are_on_the_current_device(device, path):
    gg.save({"x": gg.ones(2, requires_grad=True)}, path)
    x = gg.load(path)["x"]
    assert not x.requires_grad and x.device is device


def test_views_of_an_array_are_saved_as_they_look(path):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    gg.save({"t": a.T, "s": a[::-1, ::2]}, path)
    found = gg.load(path)
    assert (found["t"].numpy() == a.T).all() and (found["s"].numpy() == a[::-1, ::2]).all()


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"bytes", 1j, np.ones(2, np.complex64), np.array(["a"]), np.ones(2, np.int64), len]
)
def test_what_a_file_cannot_hold_is_refused_by_name(path, value):
    with pytest.raises(TypeError, match=r"save: 'a\.b' is"):
        gg.save({"a": {"b": value}}, path)
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("key", [1.5, None, True, ("a",)])
def test_keys_are_strings_or_integers(path, key):
    with pytest.raises(TypeError, match="key"):
        gg.save({key: 1}, path)


def test_a_key_that_utf8_cannot_write_is_refused_by_name(path):
    with pytest.raises(ValueError, match=r"save: 'a' has the key '\\ud800', which UTF-8 cannot write"):
        gg.save({"a": {"\ud800": gg.ones(1)}}, path)


def test_a_mask_is_not_lost_in_a_file(path):
    with pytest.raises(TypeError, match=r"save: 'a' is a masked array, and a file holds no mask"):
        gg.save({"a": np.ma.array([1.0, 2.0], mask=[False, True])}, path)
    gg.save({"a": np.ma.array([1.0, 2.0])}, path)
    assert gg.load(path)["a"].tolist() == [1, 2]


@pytest.mark.parametrize("obj", [None, [1], gg.float32, 3])
def test_only_a_dict_is_saved(path, obj):
    with pytest.raises(TypeError, match="save: obj is"):
        gg.save(obj, path)


def test_a_dict_that_contains_itself_is_refused(path):
    loop: dict = {}
    loop["x"] = loop
    with pytest.raises(ValueError, match="contain itself"):
        gg.save(loop, path)


# Writing


def test_a_failed_write_leaves_the_old_file_and_no_other(path, monkeypatch):
    gg.save({"x": 1}, path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError("the disk is full")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, fail)
            with pytest.raises(OSError, match="disk is full"):
                gg.save({"x": 2}, path)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


def test_a_full_disk_is_said_with_the_file(path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        gg.save({"x": 2}, path)
    assert os.listdir(path.parent) == []


def test_the_file_is_moved_into_place_only_when_it_is_whole(path, monkeypatch):
    gg.save({"x": 1}, path)
    moved = []
    replace = os.replace

    def look(source, target):
        moved.append((os.path.dirname(source) == os.path.dirname(target), gg.load(source), gg.load(target)))
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    gg.save({"x": 2}, path)
    assert moved == [(True, {"x": 2}, {"x": 1})]
    assert gg.load(path) == {"x": 2}


def test_a_saved_file_has_the_usual_permissions(path):
    gg.save({"x": 1}, path)
    other = path.with_name("other")
    other.write_bytes(b"")
    assert path.stat().st_mode == other.stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions and links")
def test_a_file_that_is_replaced_hands_on_its_permissions(path):
    gg.save({"x": 1}, path)
    path.chmod(0o640)
    gg.save({"x": 2}, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and gg.load(path) == {"x": 2}


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions and links")
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(tmp_path, there):
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.parent.mkdir()
    if there:
        gg.save({"x": 1}, target)
    link.symlink_to(target)
    gg.save({"x": 2}, link)
    assert link.is_symlink() and gg.load(target) == {"x": 2}
    assert os.listdir(target.parent) == ["target"] and os.listdir(tmp_path) != []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        gg.save({}, tmp_path / "nowhere" / "x")


# Reading what is wrong


def header(entries, data=b""):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor_entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def outlined(outline, *names):
    """A whole safetensors file of one-element tensors, with an outline of its own."""
    text = outline if isinstance(outline, str) else json.dumps(outline)
    tensors = {name: np.zeros(1, np.float32) for name in names}
    return safetensors.numpy.save(tensors, metadata={"gpugrad": text})


BAD = {
    "empty": b"",
    "short": b"abc",
    "a pickle": b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "a zip": b"PK\x03\x04" + bytes(60),
    "text": b"these are not the numbers that you are looking for",
    "a header longer than the file": struct.pack("<Q", 10**6) + b"{}",
    "a header of 2^64 bytes": b"\xff" * 8 + b"{}",
    "no JSON": header(b"{not json"),
    "JSON of another kind": header([1, 2]),
    "no entry": header({"x": 3}),
    "a type there is none of": header({"x": tensor_entry("F31")}, bytes(4)),
    "bfloat16": header({"x": tensor_entry("BF16", offsets=(0, 2))}, bytes(2)),
    "a negative size": header({"x": tensor_entry(shape=(-1,))}, bytes(4)),
    "sizes that multiply past 2^64": header({"x": tensor_entry(shape=(2**40, 2**40))}, bytes(4)),
    "offsets outside the file": header({"x": tensor_entry(offsets=(0, 400))}, bytes(4)),
    "offsets that run backwards": header({"x": tensor_entry(offsets=(4, 0))}, bytes(4)),
    "tensors that overlap": header({"x": tensor_entry(), "y": tensor_entry()}, bytes(4)),
    "bytes that no tensor has": header({"x": tensor_entry()}, bytes(8)),
    "an integer too large": safetensors.numpy.save({"x": np.array([2**40])}),
    "an outline that is no JSON": outlined("{", "x"),
    "an outline that is no pair": outlined([], "x"),
    "an outline of an unknown kind": outlined(["set", [1]], "x"),
    "an outline of a value": outlined(["value", 3]),
    "an outline of a list": outlined(["list", []]),
    "a tensor that is not there": outlined(["dict", [["x", ["tensor", "y"]]]], "x"),
    "a tensor named by a list": outlined(["dict", [["x", ["tensor", ["x"]]]]], "x"),
    "a tensor that is used twice": outlined(["dict", [["x", ["tensor", "x"]], ["y", ["tensor", "x"]]]], "x"),
    "a tensor that is left over": outlined(["dict", []], "x"),
    "a key that is a list": outlined(["dict", [[["x"], ["value", 1]]]]),
    "a value that is a dict": outlined(["dict", [["x", ["value", {}]]]]),
    "a float that is code": outlined(["dict", [["x", ["float", "__import__('os')"]]]]),
    "an outline a million deep": outlined('["list", [' * 10**6),
    "an outline a million deep and whole": outlined('["list", [' * 10**6 + "]]" * 10**6),
    "a number of a million digits": outlined('["dict", [["x", ["value", ' + "9" * 10**6 + "]]]]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_is_wrong_is_one_error_that_names_it(path, kind):
    path.write_bytes(BAD[kind])
    with pytest.raises(gg.DataError, match=r"load: '.*x\.safetensors'"):
        gg.load(path)


def test_a_file_cut_short_anywhere_is_an_error(path):
    gg.save({"a": np.arange(5, dtype=np.float32), "n": {"b": np.ones(2, np.uint8)}, "c": 3}, path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(gg.DataError):
            gg.load(path)


def test_a_file_that_is_not_there_or_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing"):
        gg.load(tmp_path / "missing")
    with pytest.raises(gg.DataError, match="is not a file"):
        gg.load(tmp_path)


def loads_or_refuses(path, data):
    """Whatever the bytes: a dict, or one of the errors that load is meant to raise."""
    path.write_bytes(data)
    try:
        assert isinstance(gg.load(path), dict)
    except gg.DataError:
        pass


FUZZ = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(st.binary(max_size=300))
def test_any_bytes_at_all(path, data):
    loads_or_refuses(path, data)


@FUZZ
@given(st.binary(max_size=100), st.binary(max_size=32))
def test_any_header_and_any_data(path, text, data):
    loads_or_refuses(path, header(text, data))


@FUZZ
@given(st.data())
def test_a_good_file_with_bytes_changed(path, data):
    gg.save({"a": np.arange(3, dtype=np.float32), "n": [{"b": np.ones(2, np.uint8)}, 3, (1.5, None)]}, path)
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    loads_or_refuses(path, bytes(whole))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["x", "tensor"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        | st.tuples(st.sampled_from(["dict", "list", "tuple", "tensor", "value", "float"]), inner)
    ),
    max_leaves=12,
)


@FUZZ
@given(json_values)
def test_any_outline(path, outline):
    loads_or_refuses(path, outlined(outline, "x"))


@FUZZ
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(st.characters(codec="utf-8")),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3) | st.integers(), inner, max_size=3)
            | st.tuples(inner, inner)
        ),
        max_leaves=10,
    )
)
def test_whatever_can_be_saved_comes_back(path, value):
    gg.save({"value": value, "x": np.ones(1, np.float32)}, path)
    found = gg.load(path)
    assert same({"value": value, "x": np.ones(1, np.float32)}, found)


def test_a_folder_is_no_file_to_save_to(tmp_path):
    with pytest.raises(ValueError, match=r"save: .* is a folder, a pipe or a device; give the name of a file"):
        gg.save({"a": gg.ones(1)}, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipe with a name")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link"):
        with pytest.raises(ValueError, match="a folder, a pipe or a device"):
            gg.save({"a": gg.ones(1)}, path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "pipe"]


@pytest.mark.parametrize("path", [None, 3, "", b"x", ["x"]])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(TypeError, match=r"load: path is .*; it must be the name of a file"):
        gg.load(path)
    with pytest.raises(TypeError, match=r"save: path is .*; it must be the name of a file"):
        gg.save({}, path)
