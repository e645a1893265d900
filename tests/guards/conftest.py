"""Makes `numpy_hook` and `children` importable, here and in the subprocesses that the tests start."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
