"""People, sign-in groups and teams: who has which roles, and how a person gets an account."""
