"""The audit trail, permissions and sign-ins."""
