package discussion

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
)

// New returns the flow of a team. All faults of cfg are in the one error, which is
// ErrNoTeamLeader if there is no leader.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	err := cfg.validate()
	texts, promptErr := newPrompts(cfg.Prompts)
	if err := errors.Join(err, promptErr); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("discussion: %w", err)
	}
	cfg = cfg.withDefaults()
	return orchestrator.Flow[Input, Outcome]{
		Name:   cfg.Name,
		Agents: cfg.agents(),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			r := &run{cfg: cfg, prompts: texts, in: in, machine: Phases.Start(nil)}
			return r.do(c)
		},
	}, nil
}

// run is one run of the team.
type run struct {
	cfg     Config
	prompts prompt.Set
	in      Input

	machine *fsm.Machine[Phase, string, string]
	moves   []string
	state   State
	round   int // that is under way; 0: outside of the rounds
	elided  int // messages left out of the last context
	out     Outcome
}

// do is the discussion: kickoff, rounds, validation, selection, report (D6).
func (r *run) do(c *orchestrator.Context) (Outcome, error) {
	r.state = State{Phase: r.machine.Current(), Rounds: r.cfg.MaxRounds}
	r.out.SelectedBy, r.out.Shortlist = ByNone, []Idea{}
	r.out.Discussion = Discussion{
		ID: c.RunID(), Topic: r.in.Topic, Status: StatusRunning, MaxRounds: r.cfg.MaxRounds, Threshold: r.cfg.MinScoreThreshold,
		Messages: []Message{}, Ideas: []Idea{}, Started: c.Now(),
	}
	c.Expose(func() any { return r.state })
	c = c.WithBudget(orchestrator.Budget{Calls: r.cfg.Limits.Calls, Cost: r.cfg.Limits.Cost})
	for _, step := range []func(*orchestrator.Context) error{r.begin, r.kickOff, r.explore, r.validate, r.choose, r.report} {
		if err := step(c); err != nil {
			return r.fail(c, err)
		}
	}
	r.fire(c, "finish")
	r.out.Status = orchestrator.Completed
	return r.end(c, StatusCompleted), nil
}

// begin checks the input and lets the host speak.
func (r *run) begin(c *orchestrator.Context) error {
	if err := r.in.check(r.cfg.Limits.TopicBytes); err != nil {
		return err
	}
	r.emit(c, "discussion.started", Event{Topic: r.in.Topic})
	r.fire(c, "start")
	for _, m := range r.in.Preamble {
		r.add(c, Message{From: System, Content: m.Content, Type: TypePreamble})
	}
	return nil
}

// check says whether the input is a topic (DX3).
func (in Input) check(limit int) error {
	switch {
	case strings.TrimSpace(in.Topic) == "":
		return ErrEmptyTopic
	case len(in.Topic) > limit:
		return fmt.Errorf("%w: %d bytes, want at most %d", ErrTopicTooLarge, len(in.Topic), limit)
	case !utf8.ValidString(in.Topic):
		return fmt.Errorf("%w: it is not UTF-8", ErrBadTopic)
	case strings.ContainsFunc(in.Topic, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) || r == utf8.RuneError }):
		return fmt.Errorf("%w: it holds control characters", ErrBadTopic)
	}
	for i, m := range in.Preamble {
		if strings.TrimSpace(m.Content) == "" {
			return fmt.Errorf("%w: Preamble[%d].Content is blank", ErrBadPreamble, i)
		}
	}
	return nil
}

// kickOff has the leader set the direction (D8-D10). Without it there is no
// discussion (DC10).
func (r *run) kickOff(c *orchestrator.Context) error {
	_, err := r.say(c, speech{role: TeamLeader, kind: TypeKickoff, prompt: kickoffPrompt})
	if err != nil {
		return fatal(ErrKickoff, err)
	}
	r.fire(c, "replied")
	return nil
}

// fail ends a run that has no result: with what was said until then (DX2).
func (r *run) fail(c *orchestrator.Context, err error) (Outcome, error) {
	err = fmt.Errorf("discussion: %w", err)
	if c.IsCanceled(err) {
		r.fire(c, "cancel")
		r.out.Status = orchestrator.Canceled
		return r.end(c, StatusCanceled), err
	}
	r.fire(c, "fail")
	r.out.Status = orchestrator.Failed
	if orchestrator.IsOver(err) {
		r.out.Status = orchestrator.OutOfBudget
	}
	return r.end(c, StatusFailed), err
}

// end fills in what every outcome has.
func (r *run) end(c *orchestrator.Context, status Status) Outcome {
	d := &r.out.Discussion
	d.Status, d.Ended = status, c.Now()
	if f := r.out.FinalIdea; f != nil {
		d.FinalIdeaID = f.ID
	}
	r.out.Spent = c.Spent()
	r.emit(c, "discussion.finished", Event{Status: status, Usage: &r.out.Spent})
	return r.out
}

// stops tells whether no further call makes sense.
func stops(err error) bool {
	return orchestrator.IsOver(err) || errors.Is(err, orchestrator.ErrFlow)
}

// fatal is err under the code of the step that it ends; a cancel, an empty budget and a
// mistake are as they are.
func fatal(code, err error) error {
	if stops(err) {
		return err
	}
	return fmt.Errorf("%w: %w", code, err)
}
