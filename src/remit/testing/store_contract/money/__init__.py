"""Laws of money, and short ways to hold and spend it."""
