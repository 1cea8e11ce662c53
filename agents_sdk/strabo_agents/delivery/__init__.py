"""From a consumed record to a finished one: order, leases, attempts, the outbox, positions."""
