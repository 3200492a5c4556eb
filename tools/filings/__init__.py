"""SEC filings: who a company is, what it filed, what the filings say, and the facts in them.

EDGAR is asked by plain HTTP, ten times a second at most from the whole machine. Facts keep every
value that was ever filed for a period, with the filing's accession number.
"""
