"""Values and progress as text, tables and lines on a terminal."""
