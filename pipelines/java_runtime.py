"""What `make setup` puts into the environment beside Python's packages: a Java runtime, and jars by who needs them."""

import sys
from pathlib import Path

RUNTIME = Path(sys.prefix) / "runtime"
JAVA_HOME = RUNTIME / "java"
JAVA = JAVA_HOME / "bin" / "java"
JARS = RUNTIME / "jars"
