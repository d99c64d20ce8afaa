"""What ``make demo`` shows: one workload on a live server under several algorithms."""
