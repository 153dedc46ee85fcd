"""What servers have in common: how they listen and end, headers of their answers, templates, brakes."""
