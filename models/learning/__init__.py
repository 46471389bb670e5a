"""Stored results of learning: prior sets, habits and the progress of nights."""
