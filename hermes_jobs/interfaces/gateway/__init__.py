"""Chat gateways: what users write elsewhere becomes turns, on one platform a module."""
