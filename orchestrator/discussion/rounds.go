package discussion

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/routing"
)

// explore runs the rounds (D11).
func (r *run) explore(c *orchestrator.Context) error {
	for n := 1; n <= r.cfg.MaxRounds; n++ {
		r.round, r.out.Discussion.Round, r.state.Round = n, n, n
		r.emit(c, "round.started", Event{Round: n})
		if err := r.roundOf(c); err != nil {
			return err
		}
		r.emit(c, "round.finished", Event{Round: n})
		if n < r.cfg.MaxRounds {
			r.fire(c, "round_done")
		}
	}
	r.round = 0
	return nil
}

// roundOf has everybody speak in turn (D12).
func (r *run) roundOf(c *orchestrator.Context) error {
	has := func(role string) bool { return r.cfg.has(Role(role)) }
	ideas := func() bool { return len(r.out.Discussion.Ideas) > 0 }
	for step := range routing.RoundSteps(has, ideas, r.cfg.DeepDiveExchanges) {
		ok, err := r.step(c, Role(step.Role), step.Turn)
		if err != nil {
			return err
		}
		if ok {
			r.fire(c, "step_done")
		} else {
			r.fire(c, "step_failed")
		}
		if Role(step.Role) == Ideation && step.Turn == 1 && r.round == r.cfg.MaxRounds {
			if err := r.topUp(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// speeches are what the others do in a round.
var speeches = map[Role]speech{
	Researcher:  {kind: TypeResearcher, prompt: researchPrompt},
	Critic:      {kind: TypeCritic, prompt: criticizePrompt},
	Implementer: {kind: TypeImplementer, prompt: implementPrompt},
	TeamLeader:  {kind: TypeSynthesis, prompt: synthesizePrompt},
}

// step is one turn in a round. A member that fails costs its turn alone (D45).
func (r *run) step(c *orchestrator.Context, role Role, turn int) (ok bool, err error) {
	if role == Ideation {
		return r.ideate(c, turn)
	}
	s := speeches[role]
	s.role, s.turn = role, turn
	if role == Critic && turn > 1 {
		s.prompt = replyPrompt
	}
	_, ok, err = r.try(c, s)
	return ok, err
}

// ideate has ideation propose ideas, or in a deep dive answer the critic, where ideas
// are welcome and not demanded (DC4).
func (r *run) ideate(c *orchestrator.Context, turn int) (bool, error) {
	s := speech{role: Ideation, kind: TypeIdeation, turn: turn, prompt: ideatePrompt}
	switch {
	case turn > 1:
		s.prompt = answerPrompt
		m, ok, err := r.try(c, s)
		if ideas, perr := ParseIdeas(m.Content); ok && perr == nil {
			r.take(c, ideas)
		}
		return ok, err
	case r.round > 1:
		s.prompt = improvePrompt
	}
	return r.propose(c, s)
}

// propose has ideation answer with ideas in JSON and takes them (D16, D17).
func (r *run) propose(c *orchestrator.Context, s speech) (bool, error) {
	var ideas []Idea
	s.output = ideasWanted
	s.read = func(text string) (err error) {
		ideas, err = ParseIdeas(text)
		return err
	}
	_, ok, err := r.try(c, s)
	r.take(c, ideas)
	return ok, err
}

// topUp asks for the ideas that are missing after the last round's (DC3).
func (r *run) topUp(c *orchestrator.Context) error {
	missing := func() int { return r.cfg.MinIdeas - len(r.out.Discussion.Ideas) }
	for n := 0; n < r.cfg.MaxTopUps && missing() > 0; n++ {
		if _, err := r.propose(c, speech{role: Ideation, kind: TypeIdeation, turn: 1, prompt: topUpPrompt, missing: missing()}); err != nil {
			return err
		}
	}
	if missing() > 0 {
		r.warn(c, "ideas.below_minimum", Ideation, Event{
			Text: fmt.Sprintf("there are %d ideas, want at least %d", len(r.out.Discussion.Ideas), r.cfg.MinIdeas),
		})
	}
	return nil
}

// take appends ideas to the discussion, but for those without a title, those that are
// there already (DC21), and those beyond the limit of one answer (DX6).
func (r *run) take(c *orchestrator.Context, ideas []Idea) {
	d := &r.out.Discussion
	known := map[string]bool{}
	for _, idea := range d.Ideas {
		known[idea.fingerprint()] = true
	}
	if most := r.cfg.Limits.IdeasPerCall; len(ideas) > most {
		r.warn(c, "idea.dropped", Ideation, Event{Text: fmt.Sprintf("%d ideas in one answer, %d are taken", len(ideas), most)})
		ideas = ideas[:most]
	}
	for _, idea := range ideas {
		idea.CreatedBy, idea.Round = Ideation, r.round
		switch {
		case idea.Title == "":
			r.warn(c, "idea.dropped", Ideation, Event{Idea: &idea, Text: "an idea without a title"})
			continue
		case known[idea.fingerprint()]:
			r.emit(c, "idea.duplicate", Event{Idea: &idea, Round: r.round, Text: "it is there already"})
			continue
		}
		known[idea.fingerprint()] = true
		idea.ID = "idea-" + strconv.Itoa(len(d.Ideas)+1)
		d.Ideas = append(d.Ideas, idea)
		r.state.Ideas = len(d.Ideas)
		r.emit(c, "idea.added", Event{Idea: &idea})
	}
}

// fingerprint is the same for ideas that differ in case and white space alone.
func (i Idea) fingerprint() string {
	return strings.ToLower(prompt.OneLine(i.Title) + "\n" + prompt.OneLine(i.Description))
}
