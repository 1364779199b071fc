"""What the owner can see: `status` in totals, `view` report by report."""
