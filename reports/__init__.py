"""What a study left on disk, as tables, figures and a page. Nothing here imports torch."""
