"""Models of catalogs and of the statements that change them."""
