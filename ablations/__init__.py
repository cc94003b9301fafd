"""Studies of Transformer ablations: from a YAML file to runs, results and a report."""
