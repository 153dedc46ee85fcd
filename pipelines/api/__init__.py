"""The customers' API: where a package is, asked and followed over HTTP, fed by the topic package-reports alone."""
