package sched

// Path names the branch.
func (b *Branch) Path() string { return b.path }

// Sleep gives way without an effect: nothing that a flow can do makes a branch wait
// for nothing.
func (b *Branch) Sleep() { b.yield() }
