"""The method of contours: delta as an integral of the composed transform along a line."""
