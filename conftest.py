"""Lessons under nbval run on PoCL, whose output they are stored with, and read and change nobody's progress."""

import os
import tempfile


def pytest_configure(config):
    if getattr(config.option, "nbval", False):
        os.environ["GPUGRAD_DEVICE"] = "pocl"
        os.environ["GPUGRAD_PROGRESS"] = tempfile.mkdtemp()
