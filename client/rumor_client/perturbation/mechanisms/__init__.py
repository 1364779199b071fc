"""One module a mechanism: how it perturbs a value on the device; `table` finds it by its name."""
