"""The image task of the paper: ImageNet-X."""
