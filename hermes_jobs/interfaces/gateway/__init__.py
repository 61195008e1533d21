"""Chat gateways: what people write elsewhere becomes turns, on one platform a module."""
