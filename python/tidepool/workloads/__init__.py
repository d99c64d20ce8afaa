"""What servers are filled with and asked, by benchmarks and demonstrations."""
