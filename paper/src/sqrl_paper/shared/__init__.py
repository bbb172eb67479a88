"""What several tasks share: files of data, images, networks, training, weights that are kept."""
