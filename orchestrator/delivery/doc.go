// Package delivery is a team that delivers working code: a planner, a coder, a tester
// and a supervisor who verifies what the others did, under a clock.
//
// # A run
//
// The planner splits the goal into steps, and the supervisor reviews the plan: a plan
// that is rejected is made again. Then the steps are done, in the order of what they
// need: the coder writes code and tests, the supervisor reviews them, the tester tests
// and the supervisor reviews the report. Where tests fail, the coder gets a fix plan,
// and the tests are run again. Last the supervisor decides whether the step is
// completed. A step that stays blocked gets a plan of its own, up to three deep. When
// all steps are handled the whole is tested and the supervisor judges the goal; if it
// is not reached, a further iteration plans what is missing.
//
// What can be decided without a model is decided first: a plan with a circle, code
// without tests, a step that is not done. Gates fail closed: work whose grade did not
// come goes on, stands in Outcome.Unverified, and the run is at most Partial; a goal
// that was not graded is not reached.
//
// Rejections in a row, of whomever, are counted. The supervisor then intervenes harder
// and harder, from a reminder in the next request to the end of the run: see [Ladder].
//
// With Agents.Workspace, code is real: package workspace has an agent for it. Code is
// written into the project once it has passed its gate, the project's own tests count
// whatever the tester says, and what was not accepted is taken back.
//
// # Time
//
// A run has Limits.Time, of which planning, execution, verification, each step and its
// fixes have a share: see [Allocate]. No call begins after its share; one that is under
// way at the end of the run may go on for Limits.Grace. Time in which no process works
// on the run does not count. A run whose time is up returns what there is;
// Outcome.State as Input.From lets another one continue it.
//
// # Ends
//
// Beside completed and failed, a run can end as aborted or time_expired. Its status is
// Partial then, if a step of a root plan was completed in any iteration, and so it is
// with failed; else it is Failed, or OutOfBudget where time, money or calls are used
// up. A canceled run is aborted, and Canceled. The error is nil for completed alone.
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
// All that members say to each other are EventMessageSent; the other kinds are beside
// it. Phases, StepPhases and PlanPhases are the machines as tables. [Page] makes a page
// for people of an outcome and its events.
package delivery
