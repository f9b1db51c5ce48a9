// Package portfolio works on several projects that share a budget, one level above a
// team: which projects continue, which are stopped, and what each may spend.
//
// # A run
//
// A project is worked on in rounds. A round is a child run of [Config].Work: a director,
// or any other flow. Before the first round and after each one, an [Allocator] decides by
// the scores of all projects: it kills, promotes by a stage, and shares out the money. The
// usual one is [Shares]. A share is a round's budget, which the child cannot exceed; what a
// round leaves comes back and is shared out again, so the money of a killed project moves
// to the others. While a project has more than one round to go, only a part of the money is
// shared out: all of it, divided by the largest number of rounds that a project still has
// to go.
//
// A score is used once for a promotion: the next one takes another round. A round that
// fails, or that [Rules].Score cannot grade, leaves its project without a score. It gets
// no more money, and the outcome is Partial.
//
// A round that asks a person waits, and its question is in the Info of its own run:
// orchestrator.RunQuery with Parent lists the runs of rounds. The other projects continue.
//
// The run is over when no project may run: all are killed, ungraded, through with their
// rounds, or without money.
package portfolio
