"""When scheduled prompts are due, and the beat that fires them."""
