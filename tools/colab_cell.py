# Run this cell first: it installs gpugrad here, and tells OpenCL where the GPU's driver is.
# (A GPU is chosen in the menu: Runtime, Change runtime type. Without one the kernels run on the processor.)
import ctypes
import subprocess
import sys
from pathlib import Path

ADDRESS = "https://github.com/OWNER/gpugrad"

clone = Path("gpugrad-clone")
if not clone.is_dir():
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ADDRESS, str(clone)], check=True)
subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", f"./{clone}", "anywidget"], check=True)

# The driver comes with its OpenCL, and nobody has told OpenCL so: that takes a file with one line.
library, told = "libnvidia-opencl.so.1", Path("/etc/OpenCL/vendors/nvidia.icd")
try:
    ctypes.CDLL(library)
except OSError:
    print("There is no GPU here; the kernels run on the processor.")
else:
    if not told.exists():
        told.parent.mkdir(parents=True, exist_ok=True)
        told.write_text(library + "\n")

print(subprocess.run([sys.executable, "-m", "gpugrad", "doctor"], capture_output=True, text=True).stdout)
