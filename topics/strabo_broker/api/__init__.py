"""What each request does: one module an area, between the wire's messages and the broker's state."""
