"""What the screens on the Transformer's parts are made of: knobs, and models trained side by side."""
