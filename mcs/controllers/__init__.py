"""One file per reconciler: observe, plan, execute."""
