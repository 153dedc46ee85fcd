"""SQL over a lake's tables without a JVM."""
