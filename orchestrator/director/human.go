package director

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// beginQuestions asks people, for each task that waits for one and for the run.
func (r *run) beginQuestions() {
	if r.over != nil { // no attempt can begin, so answers would have no effect
		r.stopAll(askKeys, permitKeys, replanKeys, wakeKeys)
		return
	}
	if r.Policy.ReturnWhenWaiting {
		return
	}
	if r.paused && !r.asking {
		r.asking = true
		key := r.nextQuestion("run")
		r.start(key, func(c *orchestrator.Context) error { return r.askRun(c, key) })
	}
	for _, id := range r.waiting() {
		j := r.job(id)
		if j.silent || j.question != "" || j.held != nil {
			continue
		}
		j.question = r.nextQuestion(id)
		r.start(j.question, func(c *orchestrator.Context) error { return r.askTask(c, id) })
	}
}

// nextQuestion is the key of a further question about a task or "run". A task may have that
// ID: the two are numbered together.
func (r *run) nextQuestion(about string) string {
	j := r.job(about)
	j.asked++
	return attemptKey("ask", about, j.asked)
}

// askTask is the branch of a question about a task. An answer that does not fit is asked
// for again.
func (r *run) askTask(c *orchestrator.Context, id string) error {
	j := r.job(id)
	defer func() { j.question = "" }()
	t, _ := r.board.Task(id)
	data, err := team.Encode(t)
	if err != nil {
		return err
	}
	answer, err := r.question(c, id, orchestrator.Question{Key: j.question, Text: questionText(&t), Options: r.options(&t), Data: data})
	if now, _ := r.board.Task(id); now.Status != t.Status {
		return ends(err)
	}
	switch {
	case errors.Is(err, orchestrator.ErrTimeout) && !orchestrator.IsOver(err):
		j.silent = true
		r.warn(c, "silence", id, "no answer in %v", r.Bounds.HumanTime)
		if r.Policy.OnSilence == abandon {
			return r.abandonTask(c, id, givenUpPrefix+"no answer in time")
		}
		return nil
	case err != nil:
		return err
	}
	return r.carryOut(c, id, answer)
}

// options are the actions that fit a task. One that has delivered nothing cannot be accepted.
func (r *run) options(t *blackboard.Task) []string {
	switch {
	case t.Status == blackboard.Blocked:
		return externalOptions
	case t.Frozen == nil || r.store.lacks(t.ID):
		return slices.DeleteFunc(slices.Clone(taskOptions), func(action string) bool { return action == ActionAccept })
	}
	return taskOptions
}

// askRun is the branch of the question whether a paused run continues.
func (r *run) askRun(c *orchestrator.Context, key string) error {
	defer func() { r.asking = false }()
	answer, err := r.question(c, "run", orchestrator.Question{Key: key, Text: "Agents have failed again and again: " + r.outages.why, Options: runOptions})
	switch {
	case errors.Is(err, orchestrator.ErrTimeout) && !orchestrator.IsOver(err):
		return team.Fail(ErrWaiting, "the run is paused, and no answer came in %v: %s", r.Bounds.HumanTime, r.outages.why)
	case err != nil:
		return err
	case answer.Action == ActionStop:
		return team.Fail(ErrWaiting, "the run was stopped: %s", r.outages.why)
	}
	r.paused = false
	r.outages.succeeded()
	return nil
}

// question asks people about a task or "run" until an answer has one of the options.
func (r *run) question(c *orchestrator.Context, about string, q orchestrator.Question) (Answer, error) {
	key, text := q.Key, q.Text
	q.Timeout, q.OptionsOf = r.Bounds.HumanTime, "action"
	for n := 2; ; n++ {
		r.state.Asked = append(slices.Clone(r.state.Asked), q.Key)
		r.Emit(c, EventHumanAsked, &Event{Event: team.Event{Text: q.Text}, Task: about, On: q.Key})
		answer, err := orchestrator.Await[Answer](c, q)
		r.state.Asked = slices.DeleteFunc(slices.Clone(r.state.Asked), func(k string) bool { return k == q.Key })
		if err != nil {
			return answer, err
		}
		r.Emit(c, EventHumanAnswered, &Event{Event: team.Event{Text: answer.Action}, Task: about, On: q.Key})
		fault := answer.fault(q.Options)
		if fault == "" {
			return answer, nil
		}
		q.Key, q.Text = fmt.Sprintf("%s-%d", key, n), fmt.Sprintf("%s\n(The last answer could not be used: %s)", text, fault)
	}
}

// questionText says why a task waits and, where the work is not at fault, what the answers do.
func questionText(t *blackboard.Task) string {
	if t.Status == blackboard.Blocked {
		return fmt.Sprintf("Task %s waits for: %s", t.ID, strings.Join(t.Blocked.WaitingOn, ", "))
	}
	text := fmt.Sprintf("Task %s waits for a person: %s", t.ID, t.Reason)
	if t.Frozen != nil && t.QA != nil && t.QA.Kind == blackboard.NoReview {
		text += "\nIts work is kept. Once the cause is mended, accept has it merged without another review; retry has the task done again."
	}
	return text
}

// carryOutHeld carries out answers that had to wait for other tasks.
func (r *run) carryOutHeld(c *orchestrator.Context) error {
	for _, id := range r.waiting() {
		t, _ := r.board.Task(id)
		j := r.job(id)
		if j.held == nil || t.Final() { // an answer before has ended it
			continue
		}
		answer := *j.held
		j.held = nil
		if err := r.carryOut(c, id, answer); err != nil {
			return err
		}
	}
	return nil
}

// carryOut carries out a person's answer about a task that waits for one. If the task is to
// continue, abandoned tasks are dropped from its needs; while others of them are not
// complete, the answer is held.
func (r *run) carryOut(c *orchestrator.Context, id string, answer Answer) error {
	switch answer.Action {
	case ActionAbandon:
		return r.abandonTask(c, id, cmp.Or(strings.TrimSpace(answer.Guidance), "a person decided so"))
	case ActionAbandonBranch:
		r.abandonBranch(c, id, cmp.Or(strings.TrimSpace(answer.Guidance), "a person decided so"))
		return nil
	}
	r.dropAbandoned(c, id)
	if r.board.Waits(id) != nil {
		r.job(id).held = &answer
		return nil
	}
	switch answer.Action {
	case ActionAccept:
		if err := r.acceptAsIs(c, id); err != nil {
			r.warn(c, "answer", id, "it cannot be accepted: %s", err)
		}
	case ActionProvided:
		r.direct(c, id, blackboard.Move{Event: blackboard.EventUnblock, Who: human})
		r.guide(c, id, answer)
	case ActionEdit:
		r.edit(c, id, answer)
		r.retry(c, id, answer)
	case ActionRetry:
		r.retry(c, id, answer)
	}
	return nil
}

// acceptAsIs lets the next attempt deliver what was delivered last.
func (r *run) acceptAsIs(c *orchestrator.Context, id string) error {
	if t, _ := r.board.Task(id); t.Frozen != nil && r.store.lacks(id) {
		return errors.New("its text is not among the drafts of the input")
	}
	return r.change(c, byDirector(id, blackboard.Move{Event: blackboard.EventAccept, Who: human}))
}

// retry makes a task READY: after a failed attempt it starts anew, after an escalation it
// continues.
func (r *run) retry(c *orchestrator.Context, id string, answer Answer) {
	r.job(id).pauses = 0
	t, _ := r.board.Task(id)
	m := blackboard.Move{Event: blackboard.EventRetry, Who: human}
	if t.QA != nil && !t.QA.Passed && !interrupted(&t) {
		m.Wipe, m.Messages = true, r.phoenix(c, &t, *t.QA)
	}
	r.direct(c, id, m)
	r.guide(c, id, answer)
	if m.Wipe {
		r.forget(c, id)
	}
}

// guide tells the worker of the next attempt what a person says.
func (r *run) guide(c *orchestrator.Context, id string, answer Answer) {
	if strings.TrimSpace(answer.Guidance) != "" {
		r.direct(c, id, blackboard.Remember{Messages: []providers.Message{{
			Role: providers.User, Text: "A person says to this task:\n" + prompt.Delimit("guidance", answer.Guidance, 0),
		}}})
	}
}

// dropAbandoned removes abandoned tasks from what a task needs.
func (r *run) dropAbandoned(c *orchestrator.Context, id string) {
	why := r.board.Waits(id)
	if why == nil {
		return
	}
	var abandoned []string
	for _, need := range why.WaitingOn {
		if t, _ := r.board.Task(need); t.Status == blackboard.Abandoned {
			abandoned = append(abandoned, need)
		}
	}
	if len(abandoned) > 0 {
		r.direct(c, id, blackboard.Edit{DropNeeds: abandoned})
	}
}

// edit changes criteria and spec as a person wants it.
func (r *run) edit(c *orchestrator.Context, id string, answer Answer) {
	change := func(task string, do blackboard.Action) {
		if err := r.change(c, byDirector(task, do)); err != nil {
			r.warn(c, "answer", id, "a part of it cannot be used: %s", err)
		}
	}
	if len(answer.Criteria) > 0 {
		change(id, blackboard.Edit{Criteria: answer.Criteria})
	}
	for _, area := range slices.Sorted(maps.Keys(answer.Spec)) {
		change("", blackboard.SetSpec{Area: area, Value: answer.Spec[area]})
	}
}
