"""Items of Li and Mills, control architecture for tuning intensity and burstiness of traffic."""
