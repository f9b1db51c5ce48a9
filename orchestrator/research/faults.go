package research

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// The errors of runs, beside ErrRejected, ErrInfeasible, orchestrator.ErrBudget and
// orchestrator.ErrCanceled.
const (
	ErrWorker      = agent.Code("research/worker-failed")  // a critical worker failed (R70)
	ErrStep        = agent.Code("research/step-failed")    // all workers of a step that others need (RC12)
	ErrInvalidPlan = agent.Code("research/invalid-plan")   // the planner's plan is of no use (RX9, RX10)
	ErrOutput      = agent.Code("research/invalid-output") // an agent's answer is of no use (RX6)
	ErrAgent       = agent.Code("research/agent-failed")   // planner or supervisor failed (RX18, RX27)
)

// types are the kinds of failures as R101 names them, by their errors.
var types = []struct {
	err  error
	name string
}{
	{orchestrator.ErrBudget, "BudgetExceededError"},
	{ErrWorker, "WorkerExecutionError"},
	{ErrStep, "StepFailedError"},
	{ErrInvalidPlan, "InvalidPlanError"},
	{ErrInfeasible, "InfeasiblePlanError"},
	{ErrOutput, "OutputError"},
	{ErrAgent, "AgentExecutionError"},
}

const (
	typeCanceled = "Canceled"
	typeSystem   = "SystemError"
)

// describe is the failure that err is.
func describe(c *orchestrator.Context, err error) Failure {
	f := Failure{Type: typeSystem, Message: prompt.OneLine(err.Error())}
	if c.IsCanceled(err) {
		f.Type = typeCanceled
	} else {
		for _, t := range types {
			if errors.Is(err, t.err) {
				f.Type = t.name
				break
			}
		}
	}
	if e, ok := errors.AsType[*agent.Error](err); ok {
		f.Stack = e.Stack
	}
	return f
}

// statusOf is the status of a run that failed like that.
func statusOf(kind string) orchestrator.Status {
	switch kind {
	case typeCanceled:
		return orchestrator.Canceled
	case "BudgetExceededError":
		return orchestrator.OutOfBudget
	default:
		return orchestrator.Failed
	}
}

// newPanic is a panic of the host's code.
func newPanic(v any) error {
	return &agent.Error{Message: fmt.Sprintf("panic: %v", v), Stack: string(debug.Stack())}
}

// retryable tells whether an error is worth another attempt (RX12).
func retryable(err error) bool {
	for _, final := range []error{
		agent.Code("permanent"), agent.Code("invalid"), agent.ErrRefused, orchestrator.ErrNoAgent, orchestrator.ErrBudget, orchestrator.ErrFlow,
	} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}
