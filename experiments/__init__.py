"""The papers' experiments, run with this library and printed beside the published figures."""
