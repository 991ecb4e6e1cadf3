"""Images: `image_files` (folders and tables of them) and `gradient_features` (of their pixels)."""
