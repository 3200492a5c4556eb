"""Delivering a standing report: by mail, chat or webhook, into a folder or an object store.

Each delivery is recorded before it begins and when it has ended, so that none is made twice.
"""
