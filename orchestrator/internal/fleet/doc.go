// Package fleet knows which engine works on which run: it says that this engine is alive,
// finds runs whose engine has died, and asks the engines that work on others.
//
// The idea: the log of a run names its owner, and a store that is a runlog.Owners knows
// which owners are alive. [Fleet.Claim] is the only place that decides whether this
// engine may work on a run. The decision is a hint and not a lock: it is the next record
// of the run that fences off everybody else (runlog.ErrConflict).
//
// Invariants:
//   - An engine works on a run only after Keep has told the store that it is alive.
//   - A run with a living owner is never claimed, but for a child whose parent's owner is
//     this engine: who works on a child without its parent has lost the lease of both.
//   - An engine that was silent for longer than its lease looks for each of its runs
//     whether it still owns it.
//   - Only runs that no engine works on are deleted, each with all runs inside of it.
//   - Nothing is started before Keep or Listen, and Close waits for all of it.
//
// # Files
//
//   - peers.go: what one engine asks another one for
//   - fleet.go: heartbeat, polling, notifications, waiting for a run to change
//   - claim.go: who may work on a run, and who may delete it
package fleet
