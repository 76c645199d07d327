"""What the HTML pages of rarespec share: elements with everything escaped, and one style."""
