"""Files and locks of a lake, in a folder or in an object store: no other code tells the two apart."""
