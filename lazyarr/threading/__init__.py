"""Machine code -> results: chunks of a launch on the calling thread and a native pool."""
