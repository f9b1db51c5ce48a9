// Package research is a team that writes researched articles: a planner chooses
// workers and orders them in steps, an optimiser makes the plan fit money and time, the
// workers search, analyse, write and check, and a supervisor marks the result. While it
// is not good enough a better plan is made, up to a limit. Then the best article is
// returned with its sources.
//
// # A run
//
// [New] makes a flow of a [Config]; [Catalogue] has workers to start from. A run goes
// through [Phases]: an admitted [Input] is planned; [Optimise] finds the best plan for
// what is left of money and time; steps are executed one after another, workers of a
// step side by side or in turn; marks give a score; [Outcome] has what there is, also
// beside an error.
//
// Gates fail closed: what was not graded has not passed. Nothing that was paid for is
// lost: a run with a graded iteration ends with its article whatever stops a later one.
// The rest of money and time goes with every call. Which worker is tried again, left out
// or missed, what the score is and what follows from it is computed, never asked for.
//
// # Prompts
//
// Config.Prompts replaces plan.tmpl, strategy.tmpl, work.tmpl, evaluate.tmpl and
// merge.tmpl. Each is filled with Brief (the Input), Iteration and Worker (the ID of who
// is asked), work.tmpl also with Category and Revises of the worker. What agents work on
// is the JSON of Request.Input.
//
// # Events
//
// A run emits records of the kinds Event…; their data is an [Event].
package research
