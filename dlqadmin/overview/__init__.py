"""The overview: present problems, their age, and their priority."""
