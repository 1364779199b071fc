"""One module a mechanism: how a whole crowd answers, and what one report says about its device."""
