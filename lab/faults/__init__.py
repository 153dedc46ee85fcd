"""Faults on purpose, and judges whose verdict is the log's and the oracle's: is anything lost, or told otherwise?

The campaign (`campaign.py`): `scene.py` is the environment, `load.py` what is sent, `transactions.py` what is sent in
transactions, `auditor.py` the judge; the faults are `kills.py`, `brokers.py`, `producers.py`, `disks.py`,
`lake_files.py`, `clocks.py`, `hosts.py` and `writers.py`, and `gaps.py` tells where in a batch a kill hit. The fuzz
(`fuzz.py`): `texts.py`, `writing.py`, `damage.py` and `records.py` make records that nobody would send, `judging.py`
has them judged by all, `shrinking.py` makes one on which two disagree short, and `kept.py` keeps it. `poison.py`
measures what such records cost, `soak.py` whether a job stays as it is.
"""
