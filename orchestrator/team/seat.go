package team

import (
	"cmp"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// ErrSilent is an answer without any text or data.
var ErrSilent = errors.New("the agent's answer is empty")

// TextOf returns the text of a response without the space around it, or else its data.
func TextOf(resp agent.Response) string {
	if text := strings.TrimSpace(resp.Text); text != "" {
		return text
	}
	return string(resp.Data)
}

// Seat is a member of a team, and what it is asked for: an A. It is a value: a copy with
// another Prompt or Request asks the same member for something else.
type Seat[A any] struct {
	Who    string // member in events, warnings and for the Retrier: its role or ID; "": Agent
	Agent  string // name in the roster
	Prompt string // template in Start.Prompts that makes the prompt, such as "plan.tmpl"; "": Request.Prompt is the prompt

	// Request is what is sent beside the prompt: Op, Task, Input, Output, Temperature, Limits.
	// Output is the schema of the answer; nil: that of A, or any text if A is a string or Read
	// is set. An Estimate of 0 is that of Start.Limits. Fields that an Output forbids are
	// dropped, those that it leaves open are kept.
	Request agent.Request

	// Read finds the answer in a response. What it returns as an error is told to the agent,
	// which answers again (Limits.Repairs: once). Nil: JSON that fits the schema of A; if A is
	// a string, the text.
	Read func(resp agent.Response) (A, error)

	// Check returns what is wrong with an answer, which is told to the agent as by Read. Nil:
	// nothing is.
	Check func(a A) error

	// Retrier decides about another try after one that failed, and Working is who it is told.
	// A try that Ends the run is the last. Nil: there is one try.
	Retrier orchestrator.Retrier
	Working orchestrator.Working

	On Hooks // code of the team around the calls
}

// Hooks are what a team does around the calls of a [Seat]. Each may be nil.
type Hooks struct {
	// Before is called before each try, with the request, which it may change. It returns the
	// Context of the call, such as one with less time. Its error ends the tries.
	Before func(c *orchestrator.Context, req *agent.Request) (*orchestrator.Context, error)

	// After is called after each try, with what the try used, also if it failed. What it
	// returns is the error of the try: err, or what the team makes of it.
	After func(c *orchestrator.Context, used providers.Usage, err error) error

	// Wait returns how long to wait before the next try, of what the Retrier wants.
	Wait func(wait time.Duration) time.Duration

	// Event returns the record of the team for an event of the Seat: with the fields that the
	// team adds. Nil: the record is the event.
	Event func(e Event) Telling

	Quiet bool // true: the Seat emits no events
}

// Reply is what came of asking.
type Reply[A any] struct {
	Value    A               // the answer; zero beside an error
	Text     string          // text of the last try, or its data, also of an answer that could not be used; "": the call failed
	Response agent.Response  // last response
	Usage    providers.Usage // usage of all tries, failed ones included
	Tries    int             // number of tries

	dropped []string // fields of the last answer that nobody asked for
}

// Ask asks the member and returns its answer. data is for the template of the prompt.
//
// Extra fields are dropped, with the Warning of [Run.WarnDropped].
// An answer that cannot be used is sent back with the fault, as often as Limits.Repairs says;
// what fails then, and a call that fails, are tried again as the Retrier says. Each try is
// an event agent.started, and agent.finished or agent.failed.
func (s Seat[A]) Ask(c *orchestrator.Context, r *Run, data any) (A, error) {
	reply, err := s.Call(c, r, data)
	return reply.Value, err
}

// Call is [Seat.Ask] with all that came of it. Beside an error the Reply has what there is.
func (s Seat[A]) Call(c *orchestrator.Context, r *Run, data any) (reply Reply[A], err error) {
	s.Who = cmp.Or(s.Who, s.Agent)
	read, err := s.reader(&reply)
	if err != nil {
		return reply, err
	}
	if s.Prompt != "" {
		if s.Request.Prompt, err = r.Prompts.Fill(s.Prompt, data); err != nil {
			return reply, err
		}
	}
	s.Request.Limits.Estimate = max(0, cmp.Or(s.Request.Limits.Estimate, r.Limits.Estimate))
	s.Working.ID = cmp.Or(s.Working.ID, s.Who)
	err = s.tries(c, r, &reply, read)
	if err != nil {
		var none A
		reply.Value = none
	}
	return reply, err
}

// tries asks until there is an answer or the Retrier wants no more.
func (s Seat[A]) tries(c *orchestrator.Context, r *Run, reply *Reply[A], read func(agent.Response) (A, error)) error {
	var tries []orchestrator.Try
	member, first, told := s.Agent, s.Request.Prompt, ""
	for {
		reply.Tries++
		err := s.try(c, r, reply, member, read)
		if err == nil || Ends(err) {
			return err
		}
		if member != s.Agent && errors.Is(err, orchestrator.ErrNoAgent) {
			_, err = Rule(r, c, s.Who, "Rules.Retrier", func() (struct{}, error) { return struct{}{}, err })
			return err
		}
		tries = append(tries, orchestrator.Try{Agent: member, Err: err})
		again, failed := Again(r, c, s.Retrier, s.Working, tries)
		if failed != nil || !again.Retry {
			return cmp.Or(failed, err)
		}
		member = cmp.Or(again.Agent, s.Agent)
		if again.Fresh {
			told = ""
		}
		if again.Feedback != "" {
			told = "\n\n" + again.Feedback
		}
		s.Request.Prompt = first + told
		if s.On.Wait != nil {
			again.After = s.On.Wait(again.After)
		}
		s.tell(c, r, AgentRetried, Event{Try: reply.Tries + 1, Wait: again.After, Text: prompt.OneLine(err.Error())})
		if cut := c.Sleep(again.After); cut != nil {
			return cut
		}
	}
}

// try makes one call, with its repairs.
func (s Seat[A]) try(c *orchestrator.Context, r *Run, reply *Reply[A], member string, read func(agent.Response) (A, error)) (err error) {
	within, req := c, s.Request
	if s.On.Before != nil {
		if within, err = s.On.Before(c, &req); err != nil {
			return err
		}
	}
	s.tell(c, r, AgentStarted, Event{Try: reply.Tries})
	reply.Text = ""
	reply.Value, reply.Response, err = orchestrator.AskWith(within, member, req, func(resp agent.Response) (A, error) {
		reply.Text = TextOf(resp)
		v, err := read(resp)
		if err == nil && s.Check != nil {
			err = s.Check(v)
		}
		return v, err
	})
	if err == nil && text.IsBlank(reply.Text) {
		err = ErrSilent
	}
	if err == nil {
		reply.Response.Dropped = reply.dropped
		r.WarnDropped(c, member, reply.dropped)
	}
	used := Used(reply.Response, err)
	reply.Usage = reply.Usage.Add(used)
	if s.On.After != nil {
		err = s.On.After(c, used, err)
	}
	e := Event{Try: reply.Tries, Usage: &used}
	if err == nil {
		e.Dropped = reply.dropped
		s.tell(c, r, AgentFinished, e)
		return nil
	}
	e.Text = prompt.OneLine(err.Error())
	s.tell(c, r, AgentFailed, e)
	return err
}

// Used returns what a call has used, also one that failed.
func Used(resp agent.Response, err error) providers.Usage {
	if failed, ok := errors.AsType[*agent.Error](err); ok {
		return resp.Usage.Add(failed.Usage)
	}
	return resp.Usage
}

// tell emits an event of the Seat.
func (s Seat[A]) tell(c *orchestrator.Context, r *Run, kind Common, e Event) {
	if s.On.Quiet {
		return
	}
	e.Who = s.Who
	record := Telling(&e)
	if s.On.Event != nil {
		record = s.On.Event(e)
	}
	r.Emit(c, kind.Of(r.Team), record)
}

// reader returns what reads an answer, and sets the schema that the agent is asked for.
func (s *Seat[A]) reader(reply *Reply[A]) (func(agent.Response) (A, error), error) {
	if s.Read != nil {
		return s.Read, nil
	}
	if reflect.TypeFor[A]().Kind() == reflect.String {
		return func(resp agent.Response) (a A, err error) {
			reflect.ValueOf(&a).Elem().SetString(TextOf(resp))
			return a, nil
		}, nil
	}
	shape, err := answer.For[A]()
	if s.Request.Output != nil {
		shape, err = answer.FromSchema(s.Request.Output)
	}
	if err != nil {
		return nil, err
	}
	s.Request.Output = shape.JSON()
	return func(resp agent.Response) (a A, err error) {
		a, reply.dropped, err = answer.ReadLoose[A](shape, resp.Data, resp.Text)
		return a, err
	}, nil
}
