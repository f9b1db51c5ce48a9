// Package engine is the engine in this process: it works on runs, in memory or with a
// store, from which they are resumed after a restart.
//
// The idea: a run is a line of records. Its flow executes until it waits; a record that
// is committed wakes it, and the goroutine that committed the record drives the flow on:
// one goroutine at a time, often that of the call whose answer it was. A run that is
// resumed does the same with the records of its log first, and puts on record that it is
// resumed before it reaches the world.
//
// Invariants:
//   - The flow learns of nothing that is not on record.
//   - One goroutine drives a run at a time. A run without one waits for a record.
//   - A run leaves once, with its end on record, or where it is, with the reason. Then no
//     goroutine is left of it but those in agents that ignore their context.
//   - A run that another engine has resumed stops here at its next record.
//   - Whoever waits for a run that is taken from this engine looks it up again.
//
// # Files
//
//   - hosts.go: what hosts want: starting runs, waiting for their ends, answers, cancels
//   - letters.go: what others tell a run, through the store's inbox
//   - view.go: looking at runs, and deleting them
//   - resume.go: taking up runs that no engine works on
//   - engine.go: the engine: its parts, the runs it works on, closing
//   - port.go: what a flow asks for: times, questions, children
//   - call.go: calls of agents under way
//   - drive.go: driving a run: its records one after the other, its end
//   - run.go: the state of a run, and what runs share
package engine
