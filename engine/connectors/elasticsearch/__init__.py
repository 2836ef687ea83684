"""ElasticsearchSink, for Elasticsearch and OpenSearch."""
