"""Charts of bound figures."""
