"""Expression DAG -> parfors: groups of nodes that run as one loop nest, and their bodies."""
