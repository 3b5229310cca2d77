"""The public surface: every name that others write against, and the order and defaults of its arguments."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import gpugrad as gg
import gpugrad.kernels
import gpugrad.nn.functional as F
from gpugrad import data, nn, optim

TOP = """tensor zeros ones full arange rand randn zeros_like ones_like from_numpy manual_seed no_grad cat stack where
maximum minimum grad autograd gradcheck gradgradcheck save load kernel Local Array use_kernels use_device on_launch
float32 float16 float64 int32 uint8 bool DeviceLost OutOfDeviceMemory GpugradError kernels nn optim data trace
sanitize sanitizer profile
device""".split()

TENSOR = """shape dtype ndim device grad requires_grad is_leaf grad_fn T numpy item tolist detach clone to backward
zero_ copy_ add_ mul_ sum mean max min amax amin var argmax exp log sqrt abs relu sigmoid tanh pow clamp reshape view
flatten transpose permute squeeze unsqueeze expand matmul dot index_select __getitem__ __setitem__ __add__ __radd__
__sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__ __matmul__ __neg__ __lt__ __le__ __gt__
__ge__ __eq__ __ne__""".split()

FUNCTIONAL = """unfold fold conv2d conv_transpose2d max_pool2d avg_pool2d softmax log_softmax cross_entropy nll_loss
mse_loss linear relu leaky_relu gelu sigmoid tanh pad dropout batch_norm one_hot""".split()

NN = """Module Parameter Sequential Linear Conv2d ConvTranspose2d MaxPool2d AvgPool2d BatchNorm2d Dropout Flatten ReLU
init functional""".split()

KERNELS = """im2col col2im gemm conv2d conv2d_backward_input conv2d_backward_weight max_pool2d avg_pool2d softmax
log_softmax reduce elementwise pad variants im2col_scratch_bytes col2im_scratch_bytes""".split()


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (gg, TOP), (gg.Tensor, TENSOR), (F, FUNCTIONAL), (nn, NN), (gpugrad.kernels, KERNELS),
        (data, ["mnist", "DataLoader"]),
        (optim, ["SGD", "Adam", "AdamW", "lr_scheduler"]), (optim.lr_scheduler, ["LinearLR"]),
        (gg.autograd, ["Function", "grad"]),
    ],
    ids=["gpugrad", "Tensor", "functional", "nn", "kernels", "data", "optim", "lr_scheduler", "autograd"],
)  # fmt: skip
def test_every_name_is_there(where, names):
    # grad, requires_grad and grad_fn are slots of Tensor, which hasattr finds on the class.
    assert [n for n in names if not hasattr(where, n)] == []


def test_the_listing_of_the_package_names_what_it_offers():
    assert set(TOP) <= set(dir(gg))


SIGNATURES = {
    gg.tensor: "data, dtype=None, requires_grad=False",
    gg.grad: "outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, *, allow_unused=False",
    gg.Tensor.backward: "self, gradient=None, retain_graph=None, create_graph=False",
    F.unfold: "input, kernel_size, dilation=1, padding=0, stride=1",
    F.fold: "input, output_size, kernel_size, dilation=1, padding=0, stride=1",
    F.conv2d: "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
    F.conv_transpose2d: "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1",
    F.max_pool2d: "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False",
    F.avg_pool2d: "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
    "divisor_override=None",
    F.softmax: "input, dim",
    F.log_softmax: "input, dim",
    F.cross_entropy: "input, target, weight=None, *, ignore_index=-100, reduction='mean', label_smoothing=0.0",
    F.pad: "input, pad, mode='constant', value=0",
    gpugrad.kernels.im2col: "x, kernel_size, stride=1, padding=0, dilation=1, *, variant=None, out=None",
    gpugrad.kernels.col2im: "col, output_size, kernel_size, stride=1, padding=0, dilation=1, *, variant=None, out=None",
    gpugrad.kernels.gemm: "a, b, *, transpose_a=False, transpose_b=False, alpha=1, beta=0, variant=None, out=None",
    gpugrad.kernels.conv2d_backward_input: "input_size, weight, grad_output, stride=1, padding=0, dilation=1, "
    "groups=1, *, variant=None, scratch=None, out=None",
    optim.SGD: "params, lr=0.001, momentum=0, dampening=0, weight_decay=0, nesterov=False",
}


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda f: f"{f.__module__}.{f.__qualname__}")
def test_arguments_stand_in_the_promised_order_with_the_promised_defaults(function):
    parameters = inspect.signature(function).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    written = str(inspect.Signature(plain)).strip("()")
    # What we offer beyond that comes behind it, by keyword only.
    assert written == SIGNATURES[function] or written.startswith(SIGNATURES[function] + ", ")
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters if p.name == "device")


def test_conv2d_backward_weight_takes_finished_columns_and_conv2d_takes_scratch():
    weight = inspect.signature(gpugrad.kernels.conv2d_backward_weight).parameters
    assert list(weight)[:7] == ["input", "weight_size", "grad_output", "stride", "padding", "dilation", "groups"]
    assert weight["col"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "scratch" in inspect.signature(gpugrad.kernels.conv2d).parameters


def test_dtypes_are_numpys_under_pytorchs_names():
    for name in ("float16", "float32", "float64", "int32", "uint8", "bool"):
        assert getattr(gg, name) == np.dtype(name)
    assert gg.tensor([1.5]).dtype == gg.float32


def test_importing_touches_no_device_and_loads_nothing_heavy():
    code = (
        "import sys, gpugrad as gg\n"
        "heavy = {'pyopencl', 'matplotlib', 'ipywidgets', 'anywidget', 'IPython', 'pooch', 'tqdm', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="tensro"):
        gg.tensro  # noqa: B018
