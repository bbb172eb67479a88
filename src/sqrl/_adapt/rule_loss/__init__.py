"""Rules compiled to one vectorised torch module, and the loss that it gives."""
