package discussion

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// explore runs the rounds. From the second on, what the decision will use is set aside.
func (r *run) explore(c *orchestrator.Context) error {
	var tries []orchestrator.Try
	var largest need
	cut := false
	for more := true; more; {
		r.round++
		r.out.Discussion.Round = r.round
		before, err := needOf(c.Spent()), error(nil)
		r.Emit(c, EventRoundStarted, &Event{Round: r.round})
		if r.round == 1 {
			err = r.discuss(c)
		} else {
			cut, err = r.beside(c, fmt.Sprintf("round %d", r.round), r.discuss)
		}
		r.Emit(c, EventRoundFinished, &Event{Round: r.round})
		if err != nil {
			return err
		}
		if cut {
			break
		}
		largest = largest.most(needOf(c.Spent()).minus(before))
		tries = append(tries, r.tried(r.cfg.who(Lead).Agent))
		if more, err = r.another(c, tries, largest); err != nil {
			return err
		}
	}
	if r.round < r.cfg.Rounds.Max && r.cfg.has(Propose) && !cut { // the last round came early
		if _, err := r.beside(c, "asking for missing ideas", r.topUp); err != nil {
			return err
		}
	}
	r.round = 0
	return nil
}

// another asks Rules.Retrier about another round, and waits for it. There is none if what is
// left would not do. No one agent makes a round: to name one is a fault of the rule.
func (r *run) another(c *orchestrator.Context, tries []orchestrator.Try, round need) (bool, error) {
	of := orchestrator.Working{Role: "round", ID: r.cfg.who(Lead).ID, Max: r.cfg.Rounds.Max}
	again, err := team.Again(r.Run, c, r.cfg.Rules.Retrier, of, tries)
	if err == nil && again.Retry && again.Agent != "" {
		_, err = team.Rule(r.Run, c, of.ID, "Rules.Retrier", func() (any, error) {
			return nil, fmt.Errorf("its Agent is %q, but a round is made by the whole team: want none for the role \"round\"", again.Agent)
		})
	}
	if err != nil || !again.Retry || !r.affords(c, round) {
		return false, err
	}
	if err = r.phases.Go(c, roundDone); err == nil {
		err = c.Sleep(again.After)
	}
	return true, err
}

// tried is a try for the Retrier: its score is the number of ideas by now.
func (r *run) tried(member string) orchestrator.Try {
	return orchestrator.Try{Agent: member, Score: new(float64(len(r.out.Discussion.Ideas)))}
}

// longest is the number of turns that a round may have.
const longest = 100

// discuss gives members their turns, as Rules.Turns wants. In the last round ideas that are
// missing are asked for once all who propose had a turn, or else at the end of the round.
func (r *run) discuss(c *orchestrator.Context) error {
	round := Round{Number: r.round, DeepDive: r.cfg.Rounds.DeepDive, Members: r.cfg.present()}
	wanting := r.round == r.cfg.Rounds.Max
	for {
		m, err := r.next(c, round)
		if err != nil {
			return err
		}
		if m.ID == "" {
			break
		}
		round.Spoken = append(round.Spoken, m)
		said, err := r.step(c, round.turn(m))
		if err != nil {
			return err
		}
		move := stepDone
		if said.ID == "" {
			move = stepFailed
		}
		r.phases.Fire(c, move)
		if had, all := round.proposed(); wanting && had == all {
			wanting = false
			if err := r.topUp(c); err != nil {
				return err
			}
		}
	}
	if had, _ := round.proposed(); wanting && had > 0 {
		return r.topUp(c)
	}
	return nil
}

// next asks Rules.Turns who speaks next; the zero Member is none.
func (r *run) next(c *orchestrator.Context, round Round) (Member, error) {
	return team.Rule(r.Run, c, "", "Rules.Turns", func() (Member, error) {
		if len(round.Spoken) >= longest {
			return Member{}, fmt.Errorf("round %d has more than %d turns", round.Number, longest)
		}
		given := team.Clone(round)
		given.Discussion = r.show()
		name := r.cfg.Rules.Turns.Next(given)
		if name == "" {
			return Member{}, nil
		}
		all := r.cfg.named(name)
		if len(all) == 0 {
			return Member{}, fmt.Errorf("the next to speak is %q, want a member who speaks in rounds, or none", name)
		}
		return slices.MinFunc(all, func(a, b Member) int { return cmp.Compare(round.turns(a), round.turns(b)) }), nil
	})
}

// show returns a copy of the discussion, for Rules.Turns. Messages and ideas only get more
// during the rounds, and have nothing that is shared: each is copied once.
func (r *run) show() Discussion {
	d := r.out.Discussion
	r.shown.Messages = append(r.shown.Messages, d.Messages[len(r.shown.Messages):]...)
	r.shown.Ideas = append(r.shown.Ideas, d.Ideas[len(r.shown.Ideas):]...)
	d.Messages, d.Ideas = slices.Clip(r.shown.Messages), slices.Clip(r.shown.Ideas)
	return d
}

// turns returns how many turns a member had in the round.
func (r Round) turns(m Member) (n int) {
	for _, spoken := range r.Spoken {
		if spoken.ID == m.ID {
			n++
		}
	}
	return n
}

// proposed returns how many of those who propose had a turn in the round, and how many there
// are; of a team without any that is 0 and -1.
func (r Round) proposed() (had, all int) {
	for _, m := range r.Members {
		if m.duty() == Propose {
			all++
			had += min(1, r.turns(m))
		}
	}
	return had, cmp.Or(all, -1)
}

// speeches are the prompts of a role that speaks: of its first turn in a round, and of those
// after it.
var speeches = map[Role]struct{ first, then string }{
	Researcher:  {"research.tmpl", "research.tmpl"},
	Critic:      {"criticize.tmpl", "reply.tmpl"},
	Implementer: {"implement.tmpl", "implement.tmpl"},
}

// turn returns the turn of m, the last member that r.Spoken has.
func (r Round) turn(m Member) turn {
	t := turn{by: m, kind: MessageType(m.Role), number: r.turns(m)}
	says, known := speeches[m.Role]
	switch {
	case m.duty() == Lead:
		t.kind, t.prompt = "synthesis", "synthesize.tmpl"
	case m.duty() == Propose && t.number > 1:
		t.prompt = "answer.tmpl"
	case m.duty() == Propose && r.Number > 1:
		t.prompt = "improve.tmpl"
	case m.duty() == Propose:
		t.prompt = "ideate.tmpl"
	case !known:
		t.prompt = "speak.tmpl"
	case t.number > 1:
		t.prompt = says.then
	default:
		t.prompt = says.first
	}
	return t
}

// step is one turn in a round. A turn that fails returns the zero Message and does not end
// the round. In a deep dive ideas are optional.
func (r *run) step(c *orchestrator.Context, t turn) (Message, error) {
	if t.by.duty() != Propose {
		return r.try(c, t)
	}
	if t.number == 1 {
		return r.propose(c, t)
	}
	m, err := r.try(c, t)
	if ideas, _, none := parseIdeas(m.Content); none == nil {
		r.addIdeas(c, t.by, ideas)
	}
	return m, err
}
