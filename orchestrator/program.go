package orchestrator

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// AnyFlow is a Flow of any types.
type AnyFlow interface{ Program() *engine.Program }

// Program is f for authors of engines.
func (f Flow[In, Out]) Program() *engine.Program {
	p := &engine.Program{Name: f.Name, Version: f.Version, Fault: f.fault(), Roles: f.Roles}
	if f.Agents != nil {
		p.Agents = slices.Compact(slices.Sorted(slices.Values(f.Agents)))
	}
	p.Begin = func(port engine.Port, in engine.Input) (engine.Execution, error) {
		var input In
		if err := text.ReadJSON(in.Data, &input); err != nil {
			return nil, agent.ErrorOf(fmt.Errorf("%w: the recorded input of flow %q is no %T: %w", ErrDiverged, f.Name, input, err))
		}
		x := &execution{}
		x.Sched = sched.New(port, in, func(b *sched.Branch, scope *sched.Scope) {
			c := &Context{branch: b, use: sched.Options{Scope: scope}, run: &runState{in: &in, flow: f.Name, agents: p.Agents}}
			out, err := f.Do(c, input)
			x.end, x.spend = endOf(c, &out, err)
		})
		return x, nil
	}
	return p
}

// fault is what is wrong with the flow itself, or nil.
func (f Flow[In, Out]) fault() error {
	if f.Name == "" || f.Do == nil {
		return agent.ErrorOf(fmt.Errorf("%w: flow %q: a Flow needs a Name and Do", ErrFlow, f.Name))
	}
	err := errors.Join(checkJSON(reflect.TypeFor[In](), "the input"), checkJSON(reflect.TypeFor[Out](), "the output"))
	if err != nil {
		return agent.ErrorOf(fmt.Errorf("%w: flow %q: %w", ErrFlow, f.Name, err))
	}
	return nil
}

// execution is a scheduler with what the flow returned.
type execution struct {
	*sched.Sched
	end   engine.End
	spend func(*engine.End) // sets Spent in the Outcome of end; nil: there is no Outcome
}

// End implements engine.Execution.
func (x *execution) End() engine.End {
	x.Tally(&x.end)
	if x.spend != nil {
		x.spend(&x.end)
	}
	return x.end
}

// Outcome is embedded by the Out types of teams: then lists and reports show it
// without knowing the team. With Status "", or without an Outcome, a run ends as
// its error says: nil Completed, ErrBudget OutOfBudget, ErrCanceled Canceled, else
// Failed.
type Outcome struct {
	Status     Status          `json:"status"`               // status of the run; "": it follows from the error
	Asked      string          `json:"asked,omitempty"`      // request, topic or goal of the run in words, for lists and pages; "": not said
	Score      *float64        `json:"score,omitempty"`      // score of the result, on the team's scale; nil: not graded
	Unverified []string        `json:"unverified,omitempty"` // parts of the result that have not passed their gate; nil: none
	Warnings   []Warning       `json:"warnings,omitempty"`   // failures that did not end the run, in order
	Spent      providers.Usage `json:"spent,omitzero"`       // usage of the run; where the flow puts Context.Spent there, the end adds what calls used that were given up
	Elapsed    time.Duration   `json:"elapsed,omitzero"`     // time for which the run was worked on (Context.Elapsed), in nanoseconds
}

// Warning is something that went wrong without ending the run.
type Warning struct {
	Code    string `json:"code"`          // stable name "<team>/<what>", such as "hierarchy/ungraded"
	Who     string `json:"who,omitempty"` // member or part that it is about; "": the run
	Message string `json:"message"`       // failure in words
}

// None switches off what a team's Config counts, where 0 stands for its default:
// Retries: None is no retry.
const None = -1

func (o *Outcome) outcome() *Outcome { return o }

// endOf is the end of a run whose flow returned out and err. spend puts into the Outcome in
// out what the run used, if the flow put there what it had used by then; nil: out has none.
func endOf[Out any](c *Context, out *Out, err error) (end engine.End, spend func(*engine.End)) {
	end = engine.End{Status: statusOf(err), Spent: c.use.Scope.Spent(), Err: agent.ErrorOf(err)}
	if o := outcomeIn(out); o != nil {
		outcome := *o
		if outcome.Status == "" {
			outcome.Status = end.Status
		}
		end.Status = outcome.Status
		end.Outcome = agent.JSON(outcome)
		said, soFar := o.Spent, end.Spent
		spend = func(end *engine.End) {
			if said == soFar && said != end.Spent {
				o.Spent, outcome.Spent = end.Spent, end.Spent
				end.Outcome = agent.JSON(outcome)
				end.Output, _ = engine.Encode(out) // it was encoded before
			}
		}
	}
	if end.Output, err = engine.Encode(out); err != nil {
		c.branch.Fault("the output of flow %q has no JSON form: %v", c.run.flow, err)
	}
	if c.run.state != nil {
		if end.State, err = c.run.state(); err != nil {
			c.branch.Fault("the state that flow %q exposes has no JSON form: %v", c.run.flow, err)
		}
	}
	return end, spend
}

// outcomeIn returns the Outcome that is embedded in *out, or in what *out points to; nil:
// there is none.
func outcomeIn[Out any](out *Out) *Outcome {
	type holder interface{ outcome() *Outcome }
	if o, ok := any(out).(holder); ok {
		return o.outcome()
	}
	switch v := reflect.ValueOf(*out); v.Kind() { //nolint:exhaustive // the others embed nothing
	case reflect.Pointer:
		if o, ok := any(*out).(holder); ok && !v.IsNil() {
			return o.outcome()
		}
	case reflect.Struct: // Out is an interface: from now on a pointer is in it, which is equal in JSON
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		if o, ok := reflect.TypeAssert[holder](p); ok {
			*out, _ = reflect.TypeAssert[Out](p)
			return o.outcome()
		}
	}
	return nil
}

// statusOf is the status of a flow that ended with err and does not say one. A child's
// ErrBudget counts like the run's. An agent's own ErrBudget or ErrCanceled is a failure
// like any other.
func statusOf(err error) Status {
	says := func(code agent.Code) bool {
		var crossed *agent.Error // from an agent, if it does not say that the run is over
		return errors.Is(err, code) && (IsOver(err) || errors.Is(err, engine.ErrChildOver) || !errors.As(err, &crossed) || !errors.Is(crossed, code))
	}
	switch {
	case err == nil:
		return Completed
	case says(ErrBudget):
		return OutOfBudget
	case says(ErrCanceled):
		return Canceled
	}
	return Failed
}
