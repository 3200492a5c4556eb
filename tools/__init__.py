"""What a model may call: each a typed function with a docstring. Nothing here knows Prefect."""
