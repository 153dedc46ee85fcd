"""Results and progress as text and tables on a terminal: the only code that draws there."""
