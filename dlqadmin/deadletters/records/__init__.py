"""One dead letter: its document, its payload, its neighbours and its retention."""
