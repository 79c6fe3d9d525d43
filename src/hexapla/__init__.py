"""Train, run and look inside Transformers for sequence transduction."""
