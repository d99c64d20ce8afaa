"""A pool and its naive model, driven together: the operations, and random walks of them."""
