"""What a batch is made of: known answers, strict negatives, edges to hide."""
