"""What users test their agents with, and remit itself."""
