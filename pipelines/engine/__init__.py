"""One micro-batch of a lake, whoever asks for it: the live job or a replay."""
