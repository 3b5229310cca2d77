"""JupyterLab for tests: a server of its own on a folder of notebooks, and its pages in the browser."""

import ast
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from browser import page, press

from gpugrad.course.lab import with_defaults

HERE = "http://127.0.0.1"
TRACKER = "@jupyterlab/notebook-extension"


@contextlib.contextmanager
def server(folder, **variables):
    """A JupyterLab of its own on this folder -> the address its notebooks are opened at. All cells are on the page."""
    pytest.importorskip("jupyterlab", reason="opens the notebook: pip install 'gpugrad[lab]'")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    home = folder / ".jupyter"
    homes = {f"JUPYTER_{k}_DIR": str(home / k.lower()) for k in ("CONFIG", "DATA", "RUNTIME")}
    settings = home / "config" / "lab" / "user-settings" / TRACKER
    settings.mkdir(parents=True)
    # a notebook leaves out what is far from the view; the tests want it all
    (settings / "tracker.jupyterlab-settings").write_text(json.dumps({"windowingMode": "none"}))
    options = ["--no-browser", "--allow-root", f"--port={port}", f"--ServerApp.root_dir={folder}"]
    options += ["--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"]
    command = [sys.executable, "-m", "jupyterlab", *options]
    with open(home / "log", "w") as log:
        environment = with_defaults({**os.environ, **homes, **variables})
        running = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            for _ in range(120):
                try:
                    urllib.request.urlopen(f"{HERE}:{port}/lab/tree/").close()
                    break
                except OSError:
                    time.sleep(0.5)
            yield f"{HERE}:{port}/lab/tree/"
        finally:
            running.terminate()
            try:
                running.wait(5)
            except subprocess.TimeoutExpired:  # it waits for a kernel that is still starting, which ends without it
                running.kill()
                running.wait()


@contextlib.contextmanager
def opened(browser, lab, name, **options):
    """A notebook in JupyterLab whose kernel is there."""
    with page(browser, f"{lab}{name}.ipynb?reset", width=1280, allowed=HERE, **options) as tab:
        tab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=180_000)
        time.sleep(3)  # idle is said a little before JupyterLab listens
        yield tab


def run_cell(tab, n):
    """Run the n-th code cell, by keyboard."""
    cell = tab.locator(".jp-CodeCell").nth(n)
    cell.locator(".cm-content").click()
    press(tab, "Control+Enter")
    return cell


class Kernel:
    """The kernel behind an open notebook, asked beside the page: what the page shows stays as it is."""

    def __init__(self, folder, lab, name):
        from jupyter_client import BlockingKernelClient

        self.address = lab.replace("/lab/tree/", "/api/")
        known = []
        for _ in range(120):
            with urllib.request.urlopen(self.address + "sessions") as answer:
                known = [s["kernel"]["id"] for s in json.load(answer) if s["path"] == f"{name}.ipynb"]
            if known:
                break
            time.sleep(0.5)
        (self.number,) = known
        file = folder / ".jupyter" / "runtime" / f"kernel-{self.number}.json"
        self.client = BlockingKernelClient(connection_file=str(file))
        self.client.load_connection_file()
        self.client.start_channels()

    def value(self, expression):
        """What a Python expression gives there, by way of JSON."""
        wanted = {"v": f"__import__('json').dumps({expression})"}
        number = self.client.execute("", silent=True, store_history=False, user_expressions=wanted)
        while True:
            reply = self.client.get_shell_msg(timeout=300)
            if reply["parent_header"].get("msg_id") == number:
                break
        given = reply["content"].get("user_expressions", {}).get("v", reply["content"])
        assert given.get("status") == "ok" and "data" in given, given
        return json.loads(ast.literal_eval(given["data"]["text/plain"]))

    def close(self):
        """Leave it, and end it: JupyterLab would keep it for as long as it runs."""
        self.client.stop_channels()
        urllib.request.urlopen(urllib.request.Request(f"{self.address}kernels/{self.number}", method="DELETE")).close()
