// Package orchestrator runs teams of agents: flows in direct style, on an engine
// that records what they do.
//
// A [Flow] is an ordinary function under a name. It reaches the world through its
// [Context] alone: it calls agents, sleeps, asks people, and starts branches with
// [Map] and [Queue]. An [Engine] executes flows. With a store it keeps a log of every
// answer. When a process has died, an engine that was told to [Engine.Resume]
// continues its runs: it executes the flow again over the recorded answers, and makes
// no recorded call twice.
//
// So flow code is deterministic: no goroutines, channels, locks, clock, dice,
// environment, or I/O, and nothing that depends on the order of a map. Time is
// [Context.Now], waiting is [Context.Sleep]; what touches the world is an agent.
// Do must not change variables that it captures: many runs share them.
//
// One branch of a run executes at a time and gives way only inside an effect, so
// branches may share variables without locks; agents run truly in parallel.
//
// A [Budget] limits a run or a part of it. [IsOver] tells an error by which the engine
// ends the flow from the failure of one call. A flow that breaks a rule leaves its run
// [Stuck]: nothing is lost, and [Run.Retry] tries it again.
package orchestrator
