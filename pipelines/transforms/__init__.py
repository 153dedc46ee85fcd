"""Pure functions from DataFrames to a DataFrame, one file per question answered. No IO, no settings, no session."""
