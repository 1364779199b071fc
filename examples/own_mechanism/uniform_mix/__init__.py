"""A mechanism of one's own: the truth with some probability, else any of the values at random."""
