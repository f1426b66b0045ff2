"""What the tests stand on: servers, databases, pgTAP, and the programs behind the Makefile's verbs."""
