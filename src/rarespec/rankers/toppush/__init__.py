"""TopPush and BaggingTopPush, and the solvers behind them."""
