"""Tests of the clients, against real stacks."""
