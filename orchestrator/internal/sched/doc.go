// Package sched runs the branches of one run over a port: cooperatively, one at a
// time, in an order that depends only on the order in which the port hands out
// completions. So flow code needs no locks, and a replay repeats every
// interleaving.
//
// It knows effects, branches, cancellation and budgets. Types and their JSON are
// package orchestrator's, on top.
//
// Budgets decide at two places alone: when a branch asks for a call, and when
// something of the log was applied (Complete, Charge, Lose). So neither starts nor
// waits have to be recorded.
package sched
