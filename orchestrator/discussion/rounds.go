package discussion

import "github.com/convene-go/convene/orchestrator"

// explore runs the rounds.
func (r *run) explore(c *orchestrator.Context) error {
	for n := 1; n <= r.cfg.Rounds.Max; n++ {
		r.round, r.out.Discussion.Round = n, n
		r.emit(c, EventRoundStarted, Event{Round: n})
		err := r.discuss(c)
		r.emit(c, EventRoundFinished, Event{Round: n})
		if err != nil {
			return err
		}
		if n < r.cfg.Rounds.Max {
			r.fire(c, "round_done")
		}
	}
	r.round = 0
	return nil
}

// discuss gives each member its turn. Critic, implementer and deep dives have one only if
// there are ideas by then.
func (r *run) discuss(c *orchestrator.Context) error {
	for _, t := range r.cfg.order(r.round) {
		if !r.cfg.has(t.role) || t.onIdeas && len(r.out.Discussion.Ideas) == 0 {
			continue
		}
		m, err := r.step(c, t)
		if err != nil {
			return err
		}
		event := "step_done"
		if m.ID == "" {
			event = "step_failed"
		}
		r.fire(c, event)
		if t.role == Ideation && t.number == 1 && r.round == r.cfg.Rounds.Max {
			if err := r.topUp(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// order are the turns of a round: each member once, in a deep dive ideation and critic
// again, and then the leader, who sums up.
func (c Config) order(round int) []turn {
	ideate := "ideate.tmpl"
	if round > 1 {
		ideate = "improve.tmpl"
	}
	turns := []turn{
		{role: Researcher, kind: TypeResearcher, prompt: "research.tmpl", number: 1},
		{role: Ideation, kind: TypeIdeation, prompt: ideate, number: 1},
		{role: Critic, kind: TypeCritic, prompt: "criticize.tmpl", number: 1, onIdeas: true},
		{role: Implementer, kind: TypeImplementer, prompt: "implement.tmpl", number: 1, onIdeas: true},
	}
	if c.has(Ideation) && c.has(Critic) {
		for n := range c.Rounds.DeepDive {
			turns = append(turns,
				turn{role: Ideation, kind: TypeIdeation, prompt: "answer.tmpl", number: n + 2, onIdeas: true},
				turn{role: Critic, kind: TypeCritic, prompt: "reply.tmpl", number: n + 2, onIdeas: true})
		}
	}
	return append(turns, turn{role: TeamLeader, kind: TypeSynthesis, prompt: "synthesize.tmpl", number: 1})
}

// step is one turn in a round. A turn that fails returns the zero Message and does not end
// the round. In a deep dive ideas are optional.
func (r *run) step(c *orchestrator.Context, t turn) (Message, error) {
	if t.role == Ideation && t.number == 1 {
		return r.propose(c, t)
	}
	m, err := r.try(c, t)
	if ideas, none := ParseIdeas(m.Content); t.role == Ideation && none == nil {
		r.addIdeas(c, ideas)
	}
	return m, err
}
