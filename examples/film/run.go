package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

const (
	master = "master"         // the agent that makes one result of all departments'
	grace  = 10 * time.Second // for agents under way at Ctrl-C
	limits = "limits"         // the label of a run
)

// errInterrupted says that Ctrl-C suspended the run.
var errInterrupted = errors.New("interrupted")

// studio is a flow on an engine with a log.
type studio struct {
	o    options
	c    console
	log  *sqlite.Store
	eng  *orchestrator.Engine
	flow orchestrator.Flow[hierarchy.Input, hierarchy.Outcome]
}

// perform starts a run of the request, resumes it, or shows how it ended.
func perform(ctx context.Context, o options, c console) (err error) {
	departments := hierarchy.MovieDepartments()
	ctx, suspend := context.WithCancelCause(ctx)
	defer suspend(nil)
	agents, err := cast(o, departments, c.getenv, suspend)
	if err != nil {
		return err
	}
	flow, err := hierarchy.New(hierarchy.Config{
		Name: "film", Departments: departments, Master: master, Hooks: hierarchy.Hooks{Brief: brief},
	})
	if err != nil {
		return err
	}
	log, err := sqlite.Open(o.db)
	if err != nil {
		return fmt.Errorf("-db: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents, Store: log})
	if err != nil {
		return err
	}
	s := &studio{o, c, log, eng, flow}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	return s.work(ctx)
}

// close suspends what has not ended.
func (s *studio) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return s.eng.Close(ctx)
}

func (s *studio) work(ctx context.Context) error {
	before, err := find(ctx, s.log, s.o)
	if err != nil {
		return fmt.Errorf("-db %s: %w", s.o.db, err)
	}
	s.heading()
	run, err := s.begin(ctx, before)
	if err != nil {
		return hint(err)
	}
	if err := s.opening(ctx, run, before); err != nil {
		return err
	}
	out, err, shown := s.follow(ctx, run, before)
	if ctx.Err() != nil {
		return s.suspend(ctx, run)
	}
	if out.Status == "" { // the run stopped, or has no outcome
		return errors.Join(hint(err), shown)
	}
	return errors.Join(s.report(out, run.ID()), ending(out, err), shown)
}

// begin starts the run, or resumes it.
func (s *studio) begin(ctx context.Context, before past) (*orchestrator.Run, error) {
	run, err := s.flow.Start(ctx, s.eng, hierarchy.Input{Prompt: s.o.request}, orchestrator.StartOptions{
		ID:     before.id,
		Budget: orchestrator.Budget{Cost: s.o.budget, Wall: s.o.timeout, Calls: s.o.calls},
		Labels: map[string]string{limits: s.o.limits()},
	})
	if errors.Is(err, orchestrator.ErrExists) { // it has other limits, and keeps them: Result resumes it
		return s.eng.Open(ctx, before.id)
	}
	return run, err
}

// follow waits for what the run comes to, and shows it meanwhile. shown is an error of
// showing it.
func (s *studio) follow(ctx context.Context, run *orchestrator.Run, before past) (out hierarchy.Outcome, err, shown error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	if !before.ended {
		wait.Go(func() { shown = s.watch(watching, run, before.records) })
	}
	out, err = s.flow.Result(ctx, run)
	if out.Status == "" {
		stop() // the run has not ended: its events do not end either
	}
	wait.Wait()
	return out, err, shown
}

// suspend stops the run where it is and says why: an interrupt, or the model.
func (s *studio) suspend(ctx context.Context, run *orchestrator.Run) error {
	why := errInterrupted
	if cause := context.Cause(ctx); errors.Is(cause, errOutage) {
		why = cause
	}
	if err := s.close(ctx); err != nil {
		return err
	}
	p, err := read(context.WithoutCancel(ctx), s.log, run.ID())
	switch {
	case err != nil:
		return err
	case p.held:
		return fmt.Errorf("%w: another film works on run %s", why, p.id)
	case p.ended:
		return fmt.Errorf("%w when run %s had just ended: film with the same request shows its report", why, p.id)
	}
	return fmt.Errorf("%w: suspended run %s with %d recorded answers in %s: start film with the same request again to go on", why, p.id, p.answers, s.o.db)
}

// hint says what helps against an error that left the run without an outcome.
func hint(err error) error {
	switch {
	case errors.Is(err, orchestrator.ErrDiverged):
		return fmt.Errorf("%w; the program has changed since the run began: -new starts afresh", err)
	case errors.Is(err, blackboard.ErrConflict):
		return fmt.Errorf("%w; another film works on this run", err)
	default:
		return err
	}
}

// ending is an error unless all was made that was asked for. The last of the
// outcome's errors is why.
func ending(out hierarchy.Outcome, err error) error {
	if err == nil && out.Status == orchestrator.Completed {
		return nil
	}
	if n := len(out.Errors); n > 0 && (err == nil || errors.Is(err, hierarchy.ErrUnableToGenerate)) {
		err = errors.New(out.Errors[n-1].Message)
	}
	return fmt.Errorf("the run ended %s: %w (-new starts afresh)", out.Status, err)
}

// limits are the budget of a run as text.
func (o *options) limits() string {
	return fmt.Sprintf("budget %s, timeout %v, calls %d", usd(o.budget), o.timeout, o.calls)
}
