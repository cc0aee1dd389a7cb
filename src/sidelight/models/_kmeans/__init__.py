"""K-means with statements."""
