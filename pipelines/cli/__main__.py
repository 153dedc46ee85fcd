"""`python -m pipelines.cli`: the same as `pts`."""

from pipelines.cli.main import main

main()
