package discussion

import (
	"fmt"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// explore runs the rounds.
func (r *run) explore(c *orchestrator.Context) error {
	leader, _ := r.cfg.member(TeamLeader)
	var tries []orchestrator.Try
	for more := true; more; {
		r.round++
		r.out.Discussion.Round = r.round
		r.Emit(c, EventRoundStarted, &Event{Round: r.round})
		err := r.discuss(c)
		r.Emit(c, EventRoundFinished, &Event{Round: r.round})
		if err == nil {
			tries = append(tries, r.tried(leader.Agent))
			more, err = r.another(c, tries)
		}
		if err != nil {
			return err
		}
	}
	if r.round < r.cfg.Rounds.Max && r.cfg.has(Ideation) { // the last round came early
		if err := r.topUp(c); err != nil {
			return err
		}
	}
	r.round = 0
	return nil
}

// another asks Rules.Retrier about another round, and waits for it. No one agent makes a round:
// to name one is a fault of the rule.
func (r *run) another(c *orchestrator.Context, tries []orchestrator.Try) (bool, error) {
	of := orchestrator.Working{Role: "round", ID: string(TeamLeader), Max: r.cfg.Rounds.Max}
	again, err := team.Again(r.Run, c, r.cfg.Rules.Retrier, of, tries)
	if err == nil && again.Retry && again.Agent != "" {
		_, err = team.Rule(r.Run, c, of.ID, "Rules.Retrier", func() (any, error) {
			return nil, fmt.Errorf("its Agent is %q, but a round is made by the whole team: want none for the role \"round\"", again.Agent)
		})
	}
	if err != nil || !again.Retry {
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

// discuss gives members their turns, as Rules.Turns wants.
func (r *run) discuss(c *orchestrator.Context) error {
	round := Round{Number: r.round, DeepDive: r.cfg.Rounds.DeepDive, Members: r.cfg.present()}
	for {
		role, err := r.next(c, round)
		if err != nil || role == "" {
			return err
		}
		round.Spoken = append(round.Spoken, role)
		t := turnOf(role, round)
		m, err := r.step(c, t)
		if err != nil {
			return err
		}
		move := stepDone
		if m.ID == "" {
			move = stepFailed
		}
		r.phases.Fire(c, move)
		if role == Ideation && t.number == 1 && r.round == r.cfg.Rounds.Max {
			if err := r.topUp(c); err != nil {
				return err
			}
		}
	}
}

// next asks Rules.Turns who speaks next.
func (r *run) next(c *orchestrator.Context, round Round) (Role, error) {
	return team.Rule(r.Run, c, "", "Rules.Turns", func() (Role, error) {
		if len(round.Spoken) >= longest {
			return "", fmt.Errorf("round %d has more than %d turns", round.Number, longest)
		}
		round.Discussion = r.out.Discussion
		role := r.cfg.Rules.Turns.Next(team.Clone(round))
		if role != "" && (!r.cfg.has(role) || speeches[role].kind == "") {
			return "", fmt.Errorf("the next to speak is %q, want a member who speaks in rounds, or none", role)
		}
		return role, nil
	})
}

// speeches are what a role says in a round, and the prompts of its first turn there and of
// those after it.
var speeches = map[Role]struct {
	kind        MessageType
	first, then string
}{
	Researcher:  {"researcher", "research.tmpl", "research.tmpl"},
	Ideation:    {"ideation", "improve.tmpl", "answer.tmpl"},
	Critic:      {"critic", "criticize.tmpl", "reply.tmpl"},
	Implementer: {"implementer", "implement.tmpl", "implement.tmpl"},
	TeamLeader:  {"synthesis", "synthesize.tmpl", "synthesize.tmpl"},
}

// turnOf returns the turn of the last role that round.Spoken has.
func turnOf(role Role, round Round) turn {
	says := speeches[role]
	t := turn{role: role, kind: says.kind, prompt: says.first}
	for _, spoken := range round.Spoken {
		if spoken == role {
			t.number++
		}
	}
	if t.number > 1 {
		t.prompt = says.then
	} else if role == Ideation && round.Number == 1 {
		t.prompt = "ideate.tmpl"
	}
	return t
}

// step is one turn in a round. A turn that fails returns the zero Message and does not end
// the round. In a deep dive ideas are optional.
func (r *run) step(c *orchestrator.Context, t turn) (Message, error) {
	if t.role == Ideation && t.number == 1 {
		return r.propose(c, t)
	}
	m, err := r.try(c, t)
	if ideas, none := parseIdeas(m.Content); t.role == Ideation && none == nil {
		r.addIdeas(c, ideas)
	}
	return m, err
}
