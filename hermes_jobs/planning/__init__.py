"""What a schedule's plan means in time, and what follows: pure decisions over schedules and sessions."""
