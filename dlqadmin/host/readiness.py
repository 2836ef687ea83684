"""Lines by which processes tell the process that started them that they are up."""

INDEXER_READS = "The indexer reads the dead letter topics."
