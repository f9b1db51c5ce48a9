// Package research is a team that writes researched articles: a planner chooses
// workers and orders them in steps, an optimiser makes the plan fit money and time, the
// workers search, analyse, write and check, and a supervisor marks the result. If it is
// not good enough, a better plan is made, up to a limit. Then the best article is
// returned with its sources.
//
// # A run
//
// [New] makes a flow of a [Config]; [Catalogue] has workers to start from. A run follows
// [Phases]: an admitted [Input] is planned; [Optimise] finds the best plan for the rest
// of money and time; steps are executed one after another, the workers of a step in
// parallel or in sequence; marks give a score; [Outcome] has the results, also beside an
// error.
//
// Gates fail closed: an ungraded result has not passed. Finished work is kept: a run with
// a graded iteration ends with its article, whatever stops a later one. Every call says
// how much money and time is left. Which worker is retried, skipped or replaced, the
// score and its consequences are computed, not asked for.
//
// # Prompts
//
// Config.Prompts replaces plan.tmpl, strategy.tmpl, work.tmpl, evaluate.tmpl and
// merge.tmpl. Each gets Brief (the Input), Iteration and Worker (the ID of the agent),
// work.tmpl also Category and Revises of the worker. The work that agents see is the JSON
// of Request.Input.
//
// # Events
//
// A run emits records of the kinds Event…; their data is an [Event].
package research
