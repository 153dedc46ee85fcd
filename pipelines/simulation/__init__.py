"""A believable feed for both input topics, with its unpleasant share: a pure function of its parameters."""
