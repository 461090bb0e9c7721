"""What a pass reads of the world: Secrets, repositories, registries and builds."""
