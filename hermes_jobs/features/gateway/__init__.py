"""Chat gateways: users' messages on a platform become turns; one module per platform."""
