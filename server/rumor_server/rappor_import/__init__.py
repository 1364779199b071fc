"""Google's RAPPOR files and its hashing, read as their own programs mean them."""
