"""One reader per kind of file; each turns bytes into pages of text."""
