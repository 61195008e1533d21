"""How the agent learns from its conversations once the answers are out."""
