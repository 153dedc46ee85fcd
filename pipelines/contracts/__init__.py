"""The contract with producers and consumers: topics, wire schemas, the rules that judge a record, example messages."""
