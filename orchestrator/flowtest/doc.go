// Package flowtest tests flows with scripted agents, in virtual time, and with crashes.
//
// A [Case] is a flow with an input and agents. [Case.Run] runs it in virtual time, so that
// hours pass in no time. [Case.Sweep] kills it after every record of its log, resumes it,
// and demands the same end. [Case.Determinism] runs it with many orders of completion, and
// replays each log. A [Script] is an agent that gives prepared answers.
//
// Tests that need an engine of their own run it in a [Bubble].
package flowtest
