"""The commands of `reviews`: reviews, curation and verification."""
