"""What users of other products asked for, a test for each issue."""
