package discussion

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// New returns the flow of a team. All faults of cfg are in the one error, which is
// ErrNoTeamLeader if there is no leader.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	texts, err := newPrompts(cfg.Prompts)
	if err := errors.Join(cfg.check(), err); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("discussion: %w", err)
	}
	cfg = cfg.withDefaults()
	return orchestrator.Flow[Input, Outcome]{
		Name:   cfg.Name,
		Agents: cfg.agents(),
		Roles:  team.Roles(cfg, cfg.agents()),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			return (&run{cfg: cfg, prompts: texts, in: in}).do(c)
		},
	}, nil
}

// run is one run of the team.
type run struct {
	cfg     Config
	prompts prompt.Set
	in      Input

	phases   *team.Tracker[Phase]
	round    int // current; 0: outside of the rounds
	speaking Role
	elided   int // messages left out of the last context
	out      Outcome
}

// do is the discussion: kickoff, rounds, validation, selection, report.
func (r *run) do(c *orchestrator.Context) (Outcome, error) {
	d := &r.out.Discussion
	*d = Discussion{
		ID: c.RunID(), Topic: r.in.Topic, Rounds: r.cfg.Rounds.Max, Threshold: r.cfg.Policy.Threshold,
		Messages: []Message{}, Ideas: []Idea{}, Started: c.Now(),
	}
	r.out.SelectedBy, r.out.Shortlist = ByNone, []Idea{}
	r.phases = team.Track("discussion", Phases, &d.Phase)
	c.Expose(r.state)
	l := r.cfg.Limits
	c = c.WithBudget(orchestrator.Budget{Calls: l.Calls, Cost: l.Cost, AllowUnpriced: l.AllowUnpriced, Wall: l.Time})
	for _, step := range []func(*orchestrator.Context) error{r.begin, r.kickOff, r.explore, r.validate, r.choose, r.visualize} {
		if err := step(c); err != nil {
			return r.end(c, fmt.Errorf("discussion: %w", err))
		}
	}
	return r.end(c, nil)
}

// state is the state that a run exposes.
func (r *run) state() any {
	d := r.out.Discussion
	s := State{Phase: d.Phase, Round: d.Round, Rounds: d.Rounds, Speaking: r.speaking, Messages: len(d.Messages), Ideas: len(d.Ideas)}
	if r.out.FinalIdea != nil {
		s.Best = r.out.FinalIdea.Title
	}
	return s
}

// begin checks the input and adds the host's preamble.
func (r *run) begin(c *orchestrator.Context) error {
	r.emit(c, EventRunStarted, Event{Topic: r.in.Topic})
	if err := r.in.check(r.cfg.Limits.TopicBytes); err != nil {
		return err
	}
	r.fire(c, "start")
	for _, text := range r.in.Preamble {
		r.add(c, Message{From: System, Content: text, Type: TypePreamble})
	}
	return nil
}

// check returns an error unless the input is a topic. limit is that of its bytes, 0: none.
func (in Input) check(limit int) error {
	switch {
	case strings.TrimSpace(in.Topic) == "":
		return team.Fail(ErrEmptyTopic, "the topic is blank")
	case limit > 0 && len(in.Topic) > limit:
		return team.Fail(ErrTopicTooLarge, "the topic has %d bytes, want at most %d", len(in.Topic), limit)
	case !utf8.ValidString(in.Topic):
		return team.Fail(ErrBadTopic, "the topic is not UTF-8")
	case strings.ContainsFunc(in.Topic, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) || r == utf8.RuneError }):
		return team.Fail(ErrBadTopic, "the topic holds control characters")
	}
	for i, text := range in.Preamble {
		if strings.TrimSpace(text) == "" {
			return team.Fail(ErrBadPreamble, "Preamble[%d] is blank", i)
		}
	}
	return nil
}

// kickOff lets the leader set the direction. Without it the run fails.
func (r *run) kickOff(c *orchestrator.Context) error {
	_, err := r.say(c, turn{role: TeamLeader, kind: TypeKickoff, prompt: "kickoff.tmpl"})
	if err != nil && !team.Ends(err) {
		return team.Fail(ErrKickoff, "kickoff: %w", err)
	}
	if err == nil {
		r.fire(c, "replied")
	}
	return err
}

// end moves to the final phase and completes the outcome, from which the host's report is
// made.
func (r *run) end(c *orchestrator.Context, err error) (Outcome, error) {
	r.fire(c, r.ending(c, err))
	d := &r.out.Discussion
	d.Ended = c.Now()
	r.out.Status = orchestrator.Status(d.Phase)
	r.out.Spent, r.out.Elapsed = c.Spent(), c.Elapsed()
	r.report(c)
	r.emit(c, EventRunFinished, Event{Status: r.out.Status, Usage: &r.out.Spent})
	return r.out, err
}

// ending is the event that ends a run.
func (r *run) ending(c *orchestrator.Context, err error) string {
	switch {
	case c.IsCanceled(err):
		return "cancel"
	case orchestrator.IsOver(err):
		return "overspend"
	case err != nil:
		return "fail"
	case r.out.FinalIdea == nil || len(r.out.Unverified) > 0:
		return "finish_partly"
	}
	return "finish"
}
