"""Floor 4: agents, and their loop as a program of the kernel's. It has never heard of hosts."""
