"""What files that people may edit have held, and whether anybody has read them since they were written."""
