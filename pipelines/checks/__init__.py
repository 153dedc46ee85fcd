"""Whether tables, job, and messages before they are sent are as they should be, and word to those on call."""
