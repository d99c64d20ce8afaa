"""Shared by all tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

# a state that differs from the model's is shown as in a test's own assertion
pytest.register_assert_rewrite("lockstep")

settings.register_profile(
    "default",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.register_profile(
    "long", parent=settings.get_profile("default"), max_examples=3000, derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
