"""Figures: functions of tidy data and axes, and their files."""
