// Package research is a team that writes researched articles: a planner chooses
// workers and orders them in steps, an optimiser makes the plan fit money and time, the
// workers search, analyse, write and check, a supervisor marks the result, and while it
// is not good enough a better plan is made, up to a limit. What is there at the end is
// merged into one article with its sources.
//
// [New] makes a flow of a [Config] and a [Registry] of workers; [Catalogue] are workers
// to start from. The phases are a table ([Phases]); which worker is tried again, left
// out or missed, what the score is and what follows from it is computed, never asked
// for. [Output] has what there is, also beside an error.
package research
