// Package research is a team that writes researched articles. A planner chooses workers and
// orders them in steps, and an optimiser makes the plan fit money and time. The workers
// search, analyse, write and check, and a supervisor marks the result. If it is not good
// enough, a better plan is made, up to a limit. Then the best article is returned with its
// sources.
//
// # A run
//
// [New] makes a flow of a [Config], and [Catalogue] has workers to start from. A run follows
// the machine in docs/research.md. An admitted [Input] is planned, and [BestFit] finds the best
// plan for the rest of money and time. Steps are executed one after another, the workers of a step in
// parallel or in sequence. Marks give a score. [Outcome] has the results, also beside an
// error.
//
// Gates fail closed: an ungraded result has not passed. Finished work is kept: a run with
// a graded iteration ends with its article, whatever stops a later one. Every call says
// how much money and time is left.
//
// # Rules
//
// Which worker is tried again, skipped or replaced, the score and its consequences are
// computed. [Rules] has these rules as interfaces, which a host may replace. A rule that
// fails ends the run with [ErrRule], and a refused move with [ErrNotPermitted].
//
// # Prompts
//
// Config.Prompts replaces plan.tmpl, strategy.tmpl, work.tmpl, evaluate.tmpl and
// merge.tmpl. Each gets Brief (a [Brief]), Iteration and Worker (the ID of the agent),
// work.tmpl also Category and Revises of the worker. The work that agents see is the JSON
// of Request.Input. Its names, and those of agents' answers, are those of the documents.
//
// # Events
//
// A run emits records of the kinds Event…; their data is an [Event].
package research
