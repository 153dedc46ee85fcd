"""The log: records as frames, topics, offsets, messages read and sent."""
