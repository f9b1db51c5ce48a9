package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

const (
	grace       = 10 * time.Second // for running agents at Ctrl-C
	limitsLabel = "limits"         // of a run: Settings.limits when it was started
)

// Job is the work of a program: a flow with its input and its agents, and how it is shown.
type Job[In, Out any] struct {
	*Settings

	Request string // in words
	Family  string // see Family
	Flow    orchestrator.Flow[In, Out]
	Input   In
	Limits  orchestrator.Budget // of the run

	// Rehearsal and Cast are the agents: without a model, and with one. Rules say where
	// the texts and marks of a rehearsal come from.
	Rehearsal agent.Roster
	Rules     string
	Cast      func(m providers.Model) agent.Roster

	// Prepare is called before a new run is started, not before one is resumed. nil:
	// nothing is called.
	Prepare func() error

	// Lines describes a record in lines; none: it is not shown. Picture, for terminals, is
	// the run as lines after a record, the most important first, below a line with the
	// time and the cost; nil: the last ones stay. Both get all records of the run, but
	// after a resume the lines of old records are not shown again.
	Lines   func(rec runlog.Record) []string
	Picture func(ctx context.Context, run *orchestrator.Run, rec runlog.Record) []string

	// Reply converts a person's answer to a question of the run; its error says what is
	// expected. nil: the run asks nothing. Answer is the answer to the first question; for
	// the others, and if it is "", a line of Console.In is read.
	Reply  func(q orchestrator.Question, said string) (any, error)
	Answer string

	// Outcome is the common part of an Out. Report shows the result of run and writes
	// files. Lack is why an outcome is less than requested, err being the run's own error;
	// nil: it is not.
	Outcome func(out Out) orchestrator.Outcome
	Report  func(ctx context.Context, run *orchestrator.Run, out Out) error
	Lack    func(out Out, err error) error
}

// session is a job on an engine with a log.
type session[In, Out any] struct {
	Job[In, Out]
	c   Console
	log Log
	eng *orchestrator.Engine

	stop  context.CancelCauseFunc // suspends the run
	live  *live                   // nil: there is no terminal
	typed chan string             // lines; nil: nothing was asked
}

// Perform starts a run of the job, resumes it, or shows the outcome of one that ended.
func Perform[In, Out any](ctx context.Context, c Console, job Job[In, Out]) (err error) {
	ctx, suspend := context.WithCancelCause(ctx)
	defer suspend(nil)
	agents := job.Rehearsal
	if job.Model != nil {
		m, err := job.Open(c.Getenv, suspend)
		if err != nil {
			return err
		}
		agents = job.Cast(m)
	}
	log, err := sqlite.Open(job.DB)
	if err != nil {
		return fmt.Errorf("-db: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents, Store: log})
	if err != nil {
		return err
	}
	c.Out = &locked{out: c.Out} // questions are asked while lines are printed
	s := &session[In, Out]{Job: job, c: c, log: log, eng: eng, stop: suspend}
	if c.Size != nil {
		s.live = onTerminal(c)
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	return s.work(ctx)
}

// close suspends a run that has not ended.
func (s *session[In, Out]) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return s.eng.Close(ctx)
}

func (s *session[In, Out]) work(ctx context.Context) error {
	before, err := s.Find(ctx, s.log, s.Family)
	if err != nil {
		return fmt.Errorf("-db %s: %w", s.DB, err)
	}
	if before.Records == 0 && s.Prepare != nil {
		if err := s.Prepare(); err != nil {
			return err
		}
	}
	s.heading()
	run, err := s.begin(ctx, before)
	if err != nil {
		return s.hint(err)
	}
	if err := s.opening(ctx, run, before); err != nil {
		return err
	}
	out, err, shown := s.follow(ctx, run, before)
	if ctx.Err() != nil {
		return s.suspend(ctx, run)
	}
	status := s.Outcome(out).Status
	if status == "" { // the run stopped, or has no outcome
		return errors.Join(s.hint(err), shown)
	}
	reported := s.Report(ctx, run, out)
	if err = s.Lack(out, err); err != nil {
		err = fmt.Errorf("the run ended %s: %w (-new starts a new run)", status, err)
	}
	return errors.Join(reported, err, shown)
}

// begin starts the run, or resumes it.
func (s *session[In, Out]) begin(ctx context.Context, before Past) (*orchestrator.Run, error) {
	run, err := s.Flow.Start(ctx, s.eng, s.Input, orchestrator.StartOptions{
		ID: before.ID, Budget: s.Limits, Labels: map[string]string{limitsLabel: s.limits()},
	})
	if errors.Is(err, orchestrator.ErrExists) { // it has other limits, and keeps them: Result resumes it
		return s.eng.Open(ctx, before.ID)
	}
	return run, err
}

// follow shows the run and waits for its outcome. shown is an error of showing it.
func (s *session[In, Out]) follow(ctx context.Context, run *orchestrator.Run, before Past) (out Out, err, shown error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	if !before.Ended {
		wait.Go(func() { shown = s.watch(watching, run, before.Records) })
	}
	asking, hush := context.WithCancel(watching)
	defer hush()
	if !before.Ended && s.Reply != nil {
		wait.Go(func() { s.answer(asking, run) })
	}
	out, err = s.Flow.Result(ctx, run)
	hush() // ends an open prompt
	if s.Outcome(out).Status == "" {
		stop() // the run has not ended: its events do not end either
	}
	wait.Wait()
	return out, err, shown
}

// suspend stops the run without ending it, and says why: an interrupt, or the model.
func (s *session[In, Out]) suspend(ctx context.Context, run *orchestrator.Run) error {
	why := ErrInterrupted
	if cause := context.Cause(ctx); errors.Is(cause, errOutage) || errors.Is(cause, errUnanswered) {
		why = cause
	}
	if err := s.close(ctx); err != nil {
		return err
	}
	p, err := Read(context.WithoutCancel(ctx), s.log, run.ID())
	switch {
	case err != nil:
		return err
	case p.Held:
		return fmt.Errorf("%w: another %s works on run %s", why, s.Program, p.ID)
	case p.Ended:
		return fmt.Errorf("%w when run %s had just ended: %s with the same request shows its report", why, p.ID, s.Program)
	}
	return fmt.Errorf("%w: suspended run %s with %d recorded answers in %s: start %s with the same request again to continue", why, p.ID, p.Answers, s.DB, s.Program)
}

// hint adds advice to an error that left the run without an outcome.
func (s *session[In, Out]) hint(err error) error {
	switch {
	case errors.Is(err, orchestrator.ErrDiverged):
		return fmt.Errorf("%w; the program has changed since the run began: -new starts a new run", err)
	case errors.Is(err, runlog.ErrConflict):
		return fmt.Errorf("%w; another %s works on this run", err, s.Program)
	default:
		return err
	}
}

// limits are the limits of a run as text.
func (s *Settings) limits() string {
	return fmt.Sprintf("budget %s, timeout %v, calls %d", USD(s.Budget), s.Timeout, s.Calls)
}
