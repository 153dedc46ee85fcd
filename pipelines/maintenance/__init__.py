"""Commands that correct, rebuild, expire or compact the live tables without reading the log."""
