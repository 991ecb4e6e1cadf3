"""Whatever trains: proxies, the attacker, targets."""
