"""The aggregate "gateway": conversations on a chat platform, and the commands that people write there."""
