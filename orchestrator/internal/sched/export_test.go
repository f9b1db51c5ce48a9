package sched

// Path names the branch.
func (b *Branch) Path() string { return b.path }
