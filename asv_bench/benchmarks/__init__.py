"""The asv suites.  Each takes the array module's name, ``numpy`` or ``lazyarr``, as a parameter."""
