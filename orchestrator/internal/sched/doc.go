// Package sched runs the branches of one run over a port: cooperatively, one at a
// time, in an order that depends only on the order in which the port hands out
// completions. So flow code needs no locks, and a replay repeats every
// interleaving.
//
// It knows effects, branches, cancellation and budgets; it knows nothing of types
// and JSON, which package orchestrator puts on top.
package sched
