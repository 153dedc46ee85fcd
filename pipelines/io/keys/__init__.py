"""The keys of sealed fields: one file, which mints, opens and forgets them."""
