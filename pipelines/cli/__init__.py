"""The command line `pts`, and what it wires into the jobs that it starts."""

import os
import sys
from pathlib import Path

from pipelines.host_environment import forget_foreign_modules, name_user

forget_foreign_modules(sys.path, os.environ, Path(__file__).resolve().parents[2])
name_user(os.environ)
