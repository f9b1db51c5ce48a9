// Package director is a team that plans a project as tasks on a shared board and works on
// them in git worktrees: a director who plans and decides, workers who do one task each, a
// strategist who reviews, and a guardian who keeps workers on course.
//
// # A run
//
// The director splits the objective into tasks that depend on each other. Each component
// that is built gets a TEST task. A task whose dependencies are complete is given to a
// worker of its profile, by priority and phase, as many at once as the limits allow. The
// worker works in slices; between two of them the guardian judges whether it still serves
// its task, and may nudge it or end the attempt. What it delivers is frozen, reviewed by
// the strategist against the acceptance criteria, and merged, one task after the other;
// only then the task is complete. Failed work begins anew, from a wiped memory with one
// message that says what was wrong. A task without attempts left is for a person.
//
// Workers can pause for subtasks, share insights, suggest tasks and turn to the director;
// the director plans anew when reviews fail in a row. What is allowed is blackboard.TaskTable
// and routing; what passes is decided from the criteria, never by a model alone.
//
// Without Agents.Worktree, artifacts are texts in the answers of workers: see
// WorkerResult.Artifact.
//
// # Ends
//
// Outcome.End says how a run ended:
//
//	completed         every task is complete, or was abandoned
//	waiting_human     what is left waits for people
//	stuck             what is left waits for something that will not happen
//	budget_exhausted  money, calls or time are used up
//	canceled          the run was canceled
//	failed            the input, the plan, a rule or the repository cannot be used
//
// Its status is Completed if every task is complete, or was abandoned by a decision;
// Partial if a task is complete, and others were given up, completed in part, or are not
// done; without any that is complete it is OutOfBudget, Canceled or Failed. The error is
// nil for the end "completed" alone, if anything is complete. Outcome.Board as Input.Board
// continues in another run.
//
// # People
//
// A run asks by questions of the keys ask/<task>/<n>, and ask/run/<n> when agents fail
// again and again: their answers are an [Answer]. It stays open meanwhile, and works on
// what does not wait; with Policy.ReturnWhenWaiting it ends instead. Once its budget is
// used up, it withdraws its questions and ends.
//
// # Prompts
//
// Config.Prompts may replace the templates: docs/director.md lists them and their fields. What
// agents work on is Request.Input: [ReviewInput], [AssessInput], [WorkInput], [SliceInput] or
// [CheckInput]; docs/director.md has that of the director.
//
// # Events
//
// Each change of the board is emitted as an event: see the kinds, and those of package team.
// Conversations are not emitted: they are in the calls of the log.
package director
