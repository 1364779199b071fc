"""The collector: it takes reports in, adds them up, and estimates frequencies."""
