"""`python -m pipelines.cli`: the same as `pts`."""

from pipelines.cli.main import main

if __name__ == "__main__":
    main()
