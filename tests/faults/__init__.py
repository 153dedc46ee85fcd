"""Faults on purpose, and judges that share no code with the pipeline: is anything lost, or told otherwise?

The campaign: `scene.py` is the environment, `load.py` what is sent, `auditor.py` the judge; the faults are `kills.py`,
`brokers.py`, `disks.py`, `lake_files.py` and `writers.py`. The fuzz: `texts.py`, `damage.py` and `records.py` make
records that nobody would send, and `judging.py` has them judged twice.
"""
