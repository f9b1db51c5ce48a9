// Package delivery is a team that delivers working code: a planner, a coder, a tester
// and a supervisor who verifies the work of the others, within a time limit.
//
// # A run
//
// The planner splits the goal into steps, and the supervisor reviews the plan. Then the steps
// are executed in the order of their needs. The coder writes code and tests, the supervisor
// reviews them, the tester tests, and the supervisor reviews the report. If tests fail, the
// coder gets a fix plan, and they are run again. Last the supervisor decides whether the step is
// completed. A step that stays blocked gets a plan of its own. At the end the whole is tested,
// and the supervisor judges the goal. If it is not reached, a further iteration plans what is
// missing.
//
// Rules that need no model come first: a plan with a circle, code without tests, a step that is
// not done. Gates fail closed. Work that could not be graded is kept, is listed in
// Outcome.Unverified, and makes the run Partial at most. A goal that could not be graded is not
// reached.
//
// Rejections in a row are counted over all roles. The supervisor intervenes more and more
// strongly, from a reminder in the next request to the end of the run: see [Ladder].
//
// With Agents.Workspace, code is real: package workspace has an agent for it. Code is written
// into the project once it has passed its gate, and the project's own tests count, whatever the
// tester says. Code that is not accepted is removed again.
//
// # Time
//
// Planning, execution, verification, each step and its fixes have a share of Limits.Time: see
// [Shares]. No call begins after its share. A call that is running at the end of the run may
// continue for Bounds.Grace. Time in which no process works on the run does not count. A run
// whose time is up returns what it has so far: Outcome.State as Input.From continues it.
//
// # Prompts
//
// plan.tmpl (planner), code.tmpl (coder), test.tmpl (tester) and verify.tmpl (supervisor) say
// what is wanted; guidance.tmpl is the supervisor's intervention in the first three. Their fields
// are Op, Gate, Threshold, MinSteps, MaxSteps, Iteration, Rejected, Ran, Revisions, Level,
// Issues and AbortAt. What roles work on is Request.Input: a [PlanInput], [CodeInput],
// [TestInput] or [VerifyInput].
package delivery
