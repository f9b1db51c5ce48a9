package director

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/providers"
)

// beginQuestions asks people, for each task that waits for one and for the run.
func (r *run) beginQuestions() {
	if r.over != nil { // what people answer could not be done
		for _, key := range slices.Sorted(maps.Keys(r.under)) {
			if strings.HasPrefix(key, "ask/") {
				r.stop(key)
			}
		}
		return
	}
	if r.Policy.ReturnWhenWaiting {
		return
	}
	if key := attemptKey("ask", "run", r.askedRun+1); r.paused && !r.asking {
		r.asking = true
		r.start(key, func(c *orchestrator.Context) error { return r.askRun(c) })
	}
	for _, id := range r.waiting() {
		j := r.job(id)
		if j.silent || j.asking || j.held != nil {
			continue
		}
		j.asking = true
		j.asked++
		r.start(attemptKey("ask", id, j.asked), func(c *orchestrator.Context) error { return r.askTask(c, id) })
	}
}

// askTask is the branch of a question about a task. An answer that does not fit is asked
// for again.
func (r *run) askTask(c *orchestrator.Context, id string) error {
	j := r.job(id)
	defer func() { j.asking = false }()
	t, _ := r.board.Task(id)
	options := taskOptions
	if t.Status == board.Blocked {
		options = externalOptions
	}
	answer, err := r.question(c, attemptKey("ask", id, j.asked), r.questionText(&t), options, t)
	if now, _ := r.board.Task(id); now.Status != t.Status {
		return err
	}
	switch {
	case errors.Is(err, orchestrator.ErrTimeout) && !orchestrator.IsOver(err):
		j.silent = true
		r.warn(c, "silence", id, "no answer in %v", r.Limits.HumanTime)
		if r.Policy.OnSilence == Abandon {
			return r.abandonTask(c, id, givenUpPrefix+"no answer in time")
		}
		return nil
	case err != nil:
		return err
	}
	return r.obey(c, id, answer)
}

// askRun is the branch of the question whether a paused run continues.
func (r *run) askRun(c *orchestrator.Context) error {
	defer func() { r.asking = false }()
	r.askedRun++
	answer, err := r.question(c, attemptKey("ask", "run", r.askedRun), "Agents have failed again and again: "+r.outages.why, runOptions, nil)
	switch {
	case errors.Is(err, orchestrator.ErrTimeout) && !orchestrator.IsOver(err):
		return team.Fail(ErrWaiting, "the run is paused, and no answer came in %v: %s", r.Limits.HumanTime, r.outages.why)
	case err != nil:
		return err
	case answer.Action == ActionStop:
		return team.Fail(ErrWaiting, "the run was stopped: %s", r.outages.why)
	}
	r.paused = false
	r.outages.succeeded()
	return nil
}

// question asks people until an answer has one of the options.
func (r *run) question(c *orchestrator.Context, key, text string, options []string, data any) (Answer, error) {
	ask := orchestrator.Question{Key: key, Text: text, Options: options, Timeout: r.Limits.HumanTime}
	if data != nil {
		ask.Data = agent.JSON(data)
	}
	for n := 2; ; n++ {
		r.state.Asked = append(slices.Clone(r.state.Asked), ask.Key)
		c.Emit(EventHumanAsked, Event{Task: strings.Split(key, "/")[1], On: ask.Key, Text: ask.Text})
		answer, err := orchestrator.Await[Answer](c, ask)
		r.state.Asked = slices.DeleteFunc(slices.Clone(r.state.Asked), func(k string) bool { return k == ask.Key })
		if err != nil {
			return answer, err
		}
		c.Emit(EventHumanAnswered, Event{Task: strings.Split(key, "/")[1], On: ask.Key, Text: answer.Action})
		fault := answer.fault(options)
		if fault == "" {
			return answer, nil
		}
		ask.Key, ask.Text = fmt.Sprintf("%s-%d", key, n), fmt.Sprintf("%s\n(The last answer could not be used: %s)", text, fault)
	}
}

func (r *run) questionText(t *board.Task) string {
	if t.Status == board.Blocked {
		return fmt.Sprintf("Task %s waits for: %s", t.ID, strings.Join(t.Blocked.WaitingOn, ", "))
	}
	return fmt.Sprintf("Task %s waits for a person: %s", t.ID, t.Reason)
}

// obeyHeld carries out answers that had to wait for other tasks.
func (r *run) obeyHeld(c *orchestrator.Context) error {
	for _, id := range r.waiting() {
		j := r.job(id)
		if j.held != nil && slices.Contains(r.waiting(), id) && r.board.Waits(id) == nil { // still, after the answers before
			answer := *j.held
			j.held = nil
			if err := r.obey(c, id, answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// obey carries out a person's answer about a task that waits for one. If the task is to
// continue, abandoned tasks are dropped from its needs; while others of them are not
// complete, the answer is held.
func (r *run) obey(c *orchestrator.Context, id string, answer Answer) error {
	if answer.Action != ActionAbandon && answer.Action != ActionAbandonBranch {
		r.dropAbandoned(c, id)
		if r.board.Waits(id) != nil {
			r.job(id).held = &answer
			return nil
		}
	}
	t, _ := r.board.Task(id)
	switch answer.Action {
	case ActionAbandon:
		return r.abandonTask(c, id, firstOf(answer.Guidance, "a person decided so"))
	case ActionAbandonBranch:
		r.abandonBranch(c, id, firstOf(answer.Guidance, "a person decided so"))
		return nil
	case ActionAccept:
		if err := r.change(c, board.Change{By: board.RoleDirector, Task: id, Do: board.Move{Event: board.EventAccept, Who: human}}); err != nil {
			r.warn(c, "answer", id, "it cannot be accepted: %s", err)
		}
		return nil
	case ActionProvided:
		if len(guidance(answer)) > 0 {
			r.must(c, board.Change{By: board.RoleDirector, Task: id, Do: board.Remember{Messages: guidance(answer)}})
		}
		r.direct(c, id, board.Move{Event: board.EventUnblock, Who: human})
		return nil
	case ActionEdit:
		r.edit(c, id, answer)
	}
	m := board.Move{Event: board.EventRetry, Who: human, Messages: guidance(answer)}
	if t.QA != nil && !t.QA.Passed && !interrupted(&t) { // the attempt failed: it begins anew
		m.Wipe, m.Messages = true, r.phoenix(c, &t, *t.QA)
	}
	r.direct(c, id, m)
	if m.Wipe {
		if more := guidance(answer); len(more) > 0 {
			r.must(c, board.Change{By: board.RoleDirector, Task: id, Do: board.Remember{Messages: more}})
		}
		r.forget(c, id)
	}
	return nil
}

// dropAbandoned removes abandoned tasks from what a task needs.
func (r *run) dropAbandoned(c *orchestrator.Context, id string) {
	why := r.board.Waits(id)
	if why == nil {
		return
	}
	var abandoned []string
	for _, need := range why.WaitingOn {
		if t, _ := r.board.Task(need); t.Status == board.Abandoned {
			abandoned = append(abandoned, need)
		}
	}
	if len(abandoned) > 0 {
		r.must(c, board.Change{By: board.RoleDirector, Task: id, Do: board.Edit{DropNeeds: abandoned}})
	}
}

// edit changes criteria and spec as a person wants it.
func (r *run) edit(c *orchestrator.Context, id string, answer Answer) {
	changes := make([]board.Change, 0, 1+len(answer.Spec))
	if len(answer.Criteria) > 0 {
		changes = append(changes, board.Change{By: board.RoleDirector, Task: id, Do: board.Edit{Criteria: answer.Criteria}})
	}
	for _, area := range slices.Sorted(maps.Keys(answer.Spec)) {
		changes = append(changes, board.Change{By: board.RoleDirector, Do: board.SetSpec{Area: area, Value: answer.Spec[area]}})
	}
	for _, ch := range changes {
		if err := r.change(c, ch); err != nil {
			r.warn(c, "answer", id, "a part of it cannot be used: %s", err)
		}
	}
}

// guidance is what a person says to the worker.
func guidance(answer Answer) []providers.Message {
	if strings.TrimSpace(answer.Guidance) == "" {
		return nil
	}
	return []providers.Message{{Role: providers.User, Text: "A person says to this task:\n" + prompt.Delimit("guidance", answer.Guidance, 0)}}
}
