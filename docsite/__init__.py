"""The documentation site: hand-written pages of docs/ and pages generated from the code, put together for the builder."""
