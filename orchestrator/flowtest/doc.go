// Package flowtest tests flows: scripted agents, virtual time, crashes.
//
// A [Case] is a flow with an input and agents. [Case.Run] runs it in virtual time,
// so that hours pass in no time; [Case.Sweep] kills it behind every record of its
// log and demands that it ends the same; [Case.Determinism] replays it over many
// orders of completion. A [Script] is an agent that answers as it was told.
//
// Tests that need an engine of their own run it in a [Bubble].
package flowtest
