"""What a model is shown of a long conversation: how large it is, and how it is made smaller."""
