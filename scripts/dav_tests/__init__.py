"""The parts of scripts/dav-tests."""
