"""Reproduce and extend Variational Deep Q Network (Tang and Kucukelbir, 2017)."""
