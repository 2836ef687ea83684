"""What people decide about dead letters that are not to be replayed."""
