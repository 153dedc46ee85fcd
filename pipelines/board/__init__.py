"""The board: pages on which people who run the lake see what it holds and how the job does."""
