package hierarchy

import (
	"fmt"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
)

// specialist is one chosen specialist of a department.
type specialist struct {
	dept  *department
	agent Agent
	actor *actor[SpecialistPhase]
	state *SpecialistState
}

// specialists lets the chosen agents work on the brief, side by side or, in a
// serial department, one after the other (H7, H82), and returns their results in
// the order of selection. They see the brief alone, never each other (HX14).
func (d *department) specialists(c *orchestrator.Context, brief string, chosen []Agent) []SpecialistResult {
	d.state.Specialists = make([]SpecialistState, len(chosen))
	team := make([]*specialist, len(chosen))
	for i, a := range chosen {
		s := &d.state.Specialists[i]
		s.AgentID = a.ID
		team[i] = &specialist{dept: d, agent: a, state: s, actor: newActor(d.actor.path+"/spec/"+a.ID, SpecialistTable, &s.Phase)}
	}
	limit := d.run.cfg.Limits.ParallelSpecialists
	if d.Serial {
		limit = 1
	}
	var results []SpecialistResult
	for i, done := range orchestrator.Map(c, team, limit, func(c *orchestrator.Context, s *specialist) (SpecialistResult, error) {
		return s.work(c.WithBudget(orchestrator.Budget{}), brief), nil
	}) {
		if done.Err != nil { // the run was canceled before it began
			d.run.stops(c, done.Err)
			team[i].actor.fire("stop")
			continue
		}
		results = append(results, done.Value)
	}
	return results
}

// work makes the attempts of one specialist. Its context has a budget of its own,
// which counts what it uses.
func (s *specialist) work(c *orchestrator.Context, brief string) SpecialistResult {
	r, d := s.dept.run, s.dept.Department
	result := SpecialistResult{AgentID: s.agent.ID, AgentName: s.agent.Name, Specialization: s.agent.Specialization, Attempts: []Attempt{}}
	threshold, err := r.threshold(s.agent, d)
	if err == nil {
		result.Threshold = threshold
		result.Attempts, err = r.work(c, task{
			agent: s.agent, prompt: brief, retries: *s.agent.MaxRetries, gate: threshold,
			grade: func(c *orchestrator.Context, a *Attempt, self *float64) error {
				s.actor.fire("output")
				return r.grade(c, a, Work{d, s.agent, brief, a.Output, threshold, a.Number}, self)
			},
			begin: s.begin,
			end:   s.end,
		})
	}
	if !SpecialistTable.Terminal(s.actor.machine.Current()) {
		s.actor.fire("stop")
	}
	result.settle(err)
	result.Usage = c.Spent()
	s.actor.emit(c, "specialist.finished", Event{Status: string(s.state.Phase), Result: streamed(result)})
	return result
}

func (s *specialist) begin(c *orchestrator.Context, number int, feedback string) {
	if number > 0 {
		s.actor.emit(c, "specialist.retry", Event{Attempt: &number, Feedback: feedback})
	}
	s.actor.fire("start")
	s.state.Attempts++
	s.actor.emit(c, "specialist.attempt", Event{Attempt: &number})
}

func (s *specialist) end(c *orchestrator.Context, a Attempt) {
	event := string(a.Decision)
	if a.Output == nil {
		event = "error"
	}
	if a.Number == *s.agent.MaxRetries && a.Decision != grading.Accept {
		event = "exhausted"
	}
	s.actor.fire(event)
	if a.Output != nil {
		s.state.Score = &a.Score
		s.actor.emit(c, "specialist.graded", Event{Attempt: &a.Number, Score: &a.Score, Decision: a.Decision})
	}
}

// threshold is the gate for an agent's work (H45, H89).
func (r *run) threshold(a Agent, d Department) (float64, error) {
	if r.cfg.Hooks.Threshold == nil {
		return grading.Round6(grading.ResolveThreshold(a.PassingThreshold, d.MinQuality)), nil
	}
	t, err := guard("threshold", func() (float64, error) { return r.cfg.Hooks.Threshold(r.in, a, d), nil })
	if err == nil && !validScore(t) {
		err = fmt.Errorf("threshold: it is %v, want 0 to 100", t)
	}
	return grading.Round6(t), err
}

// settle fills in what the attempts come to; stopped is why there were no more.
func (s *SpecialistResult) settle(stopped error) {
	for _, a := range s.Attempts {
		s.ExecutionTime += a.Duration
	}
	if len(s.Attempts) > 0 {
		b := best(s.Attempts)
		s.Output, s.Score, s.ScoreDefaulted = b.Output, b.Score, b.ScoreDefaulted
		if b.Output == nil {
			s.ReviewNotes = "no output: " + b.Error
		}
	}
	if stopped != nil {
		s.ReviewNotes = "stopped: " + prompt.OneLine(stopped.Error())
	}
}

// streamed is a result for those who watch: without its attempts, which were
// records already.
func streamed(s SpecialistResult) *SpecialistResult {
	s.Attempts = nil
	return &s
}
