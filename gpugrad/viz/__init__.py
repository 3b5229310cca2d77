"""Pictures. They stand on top of everything else, and nothing below imports them."""
