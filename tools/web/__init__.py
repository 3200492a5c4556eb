"""The web: search it, fetch from it, and keep what was fetched as a snapshot.

Whatever comes from there is a stranger's: addresses are checked before each connection, bytes are
bounded, and a page becomes a source of the job only as a stored snapshot with its hash.
"""
