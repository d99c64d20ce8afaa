"""``make demo``: one workload on a live server under several algorithms.

``workload`` is the work, ``live`` runs it, ``results`` replays and shows the recordings.
"""
