"""Tables and requests for live servers, used by benchmarks and the demo: ``tpch``, ``ycsb``."""
