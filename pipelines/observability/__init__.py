"""What tools that are not this project's see of the job. Beside it: nothing here stops or fails a batch."""
