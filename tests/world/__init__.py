"""What real producers, brokers and machines do: each case by its right outcome."""
