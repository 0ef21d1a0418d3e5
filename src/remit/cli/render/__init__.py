"""What commands print: pages, and the three forms that they take."""
