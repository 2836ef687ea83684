"""What every view shares: one error envelope, cursors, times."""
