"""Messages to people and programs outside: channels, and deliveries to them."""
