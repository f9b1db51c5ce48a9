// Package delivery is a team that delivers working code: a planner, a coder, a tester
// and a supervisor who verifies the work of the others, within a time limit.
//
// # A run
//
// The planner splits the goal into steps, and the supervisor reviews the plan; a
// rejected plan is made again. Then the steps are executed in the order of their
// dependencies: the coder writes code and tests, the supervisor reviews them, the tester
// tests and the supervisor reviews the report. If tests fail, the coder gets a fix plan,
// and the tests are run again. Last the supervisor decides whether the step is
// completed. A step that stays blocked gets a plan of its own, up to three deep. When
// all steps are done or failed, the whole is tested and the supervisor judges the goal;
// if it is not reached, a further iteration plans what is missing.
//
// Rules that need no model are checked first: a plan with a circle, code without tests,
// a step that is not done. Gates fail closed: work that could not be graded is kept, is
// listed in Outcome.Unverified, and makes the run Partial at most; a goal that could not
// be graded is not reached.
//
// Rejections in a row, of all roles, are counted. The supervisor then intervenes more and
// more strongly, from a reminder in the next request to the end of the run: see [Ladder].
//
// With Agents.Workspace, code is real: package workspace has an agent for it. Code is
// written into the project once it has passed its gate, the project's own tests count
// whatever the tester says, and code that is not accepted is removed again.
//
// # Time
//
// A run has Limits.Time, of which planning, execution, verification, each step and its
// fixes have a share: see [Allocate]. No call begins after its share; a call that is
// running at the end of the run may continue for Limits.Grace. Time in which no process
// works on the run does not count. A run whose time is up returns what it has so far;
// Outcome.State as Input.From lets another run continue it.
//
// # Ends
//
// Beside completed and failed, a run can end as aborted or time_expired. For these and
// for failed, its status is Partial if a step of a root plan was completed in any
// iteration; else it is phaseFailed, or OutOfBudget where time, money or calls are used up. A
// canceled run is aborted, and Canceled. The error is nil for completed alone.
//
// # Prompts
//
// plan.tmpl (planner), code.tmpl (coder), test.tmpl (tester) and verify.tmpl
// (supervisor) say what is wanted; guidance.tmpl is the supervisor's intervention in
// the first three. Their fields are Op, Gate, Threshold, MinSteps, MaxSteps, Iteration,
// Rejected, Ran, Level, Issues and AbortAt. What roles work on is Request.Input: a
// [PlanInput], [CodeInput], [TestInput] or [VerifyInput].
//
// # Events
//
// All messages between members are EventMessageSent; the other kinds are extra. Phases
// is the state machine of a run. [Page] makes an HTML page
// of an outcome and its events.
package delivery
