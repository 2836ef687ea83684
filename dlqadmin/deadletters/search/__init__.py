"""Lists of dead letters: the query language, filters, candidates, facets and saved searches."""
