"""The paper's figures and the studies beside them, from runs to files and one page."""
