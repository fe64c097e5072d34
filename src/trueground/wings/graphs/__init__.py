"""Knowledge graphs: stores and endpoints, one-hop subgraphs, linking of names to entities."""
