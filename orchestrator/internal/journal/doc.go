// Package journal keeps the records of an engine's runs: in a store, or, in an engine
// without one, as Go values that are encoded when somebody reads them.
//
// The idea: one path for both. A run makes an [Entry] and writes it; the journal gives it
// its place in the run's [Log] and tells the run's [Sink] when it is committed. With a
// store, whoever finds no other goroutine committing commits for all that write
// meanwhile: one transaction has records of many runs and branches. Without a store an
// entry is committed as soon as it has its place: nothing is encoded, hashed or awaited.
//
// Invariants:
//   - The records of a run are committed in the order of their places, without gaps.
//     What cannot be stored breaks the log: nothing follows it. But what the store never
//     takes has no place: the log goes on without it.
//   - A Sink is told exactly once of each entry, and only when the entry is durable or
//     never will be.
//   - What became of an Append that failed is looked up before it is tried again, so that
//     a commit whose confirmation was lost is not taken for a conflict.
//   - A store that fails is tried again for Config.Outage; the time is one for all runs.
//     A final error is not tried again, and stops no other run.
//
// # Files
//
//   - journal.go: writing records, large values, group commit
//   - storage.go: what an engine asks of its store, again while it fails, and what stands in for faces
//     it lacks
//   - memory.go: what stands in for the store of an engine that has none
//   - log.go: the log of one run, and its entries
package journal
