package director

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/providers"
)

// Result returns what the team has made, as text. Without worktrees it is the text of each
// artifact that passed, under its path if there are several. With worktrees it is a list of
// the files that were merged. "" means that nothing passed.
func (o Outcome) Result() string {
	paths := slices.Sorted(maps.Keys(o.Files))
	if len(paths) == 1 {
		return o.Files[paths[0]]
	}
	var parts []string
	for _, path := range paths {
		parts = append(parts, "## "+path+"\n\n"+o.Files[path])
	}
	if o.Branch != "" && o.Board != nil {
		words := map[string]string{}
		for _, t := range o.Board.Tasks {
			words[t.ID] = cmp.Or(t.Summary, t.Title)
		}
		for _, path := range slices.Sorted(maps.Keys(o.Board.Files)) {
			task := o.Board.Files[path].Task
			parts = append(parts, "- "+path+": "+cmp.Or(words[task], task))
		}
		return strings.Join(parts, "\n")
	}
	return strings.Join(parts, "\n\n")
}

// Page returns the HTML page of a run: the result, then the tasks with their attempts,
// reviews and costs, and what the team has decided and learned.
func Page(o Outcome) (string, error) {
	p := page.Of("Director", o.Asked, o.Outcome)
	p.Result = page.Card{Title: "There is no result", Why: endWords[o.End], Text: o.Result()}
	if b := o.Board; b != nil {
		complete := o.Summary[blackboard.Complete]
		p.Result.Title = fmt.Sprintf("%d of %d tasks are complete", complete, len(b.Tasks))
		p.Result.Won = complete > 0
		p.Facts = append(p.Facts, page.Fact{Name: "Tasks", Value: states(o.Summary)})
		p.Sections = []page.Section{tasksSection(b), costsSection(b), learnedSection(b), filesSection(o)}
	}
	if o.Branch != "" {
		p.Facts = append(p.Facts, page.Fact{Name: "Branch", Value: o.Branch})
	}
	return p.HTML()
}

// endWords says in words how a run has ended.
var endWords = map[Phase]string{
	Completed:       "Every task is complete or abandoned.",
	Waiting:         "The open tasks wait for people.",
	Stuck:           "The open tasks wait for something that will not happen.",
	BudgetExhausted: "Money, calls or time are used up.",
	Canceled:        "The run was canceled.",
	Failed:          "The run has failed.",
}

// states returns how many tasks are in each state, in words.
func states(summary map[blackboard.State]int) string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(summary)) {
		parts = append(parts, fmt.Sprintf("%d %s", summary[state], plainly(state)))
	}
	return strings.Join(parts, ", ")
}

// plainly returns a state in words, such as "being worked on".
func plainly(s blackboard.State) string { return cmp.Or(stateWords[s], strings.ToLower(string(s))) }

// stateWords has the states whose names are no words.
var stateWords = map[blackboard.State]string{
	blackboard.Active: "being worked on", blackboard.AwaitingQA: "waiting for its review", blackboard.FailedQA: "refused",
	blackboard.WaitingHuman: "waiting for a person",
}

func tasksSection(b *blackboard.Board) page.Section {
	s := page.Section{ID: "tasks", Title: "Tasks"}
	for i := range b.Tasks {
		s.Cards = append(s.Cards, taskCard(&b.Tasks[i]))
	}
	return s
}

// taskCard shows a task with its last review.
func taskCard(t *blackboard.Task) page.Card {
	card := page.Card{
		Label: page.Words(plainly(t.Status)) + ", " + t.Phase + " of " + t.Component, Title: cmp.Or(t.Title, t.ID), Text: t.Summary, Why: t.Reason,
		Tags: []string{t.ID, t.Profile},
	}
	if t.Attempt > 0 {
		card.Tags = append(card.Tags, fmt.Sprintf("attempts: %d", t.Attempt))
	}
	if t.Spent.Cost > 0 {
		card.Tags = append(card.Tags, fmt.Sprintf("%.4f USD", dollars(t.Spent)))
	}
	if t.ResultPath != "" {
		card.Tags = append(card.Tags, t.ResultPath)
	}
	if b := t.Blocked; b != nil {
		card.Why = page.Words(string(b.Type)) + ": " + cmp.Or(b.Description, strings.Join(b.WaitingOn, ", "))
	}
	qa := t.QA
	if qa == nil {
		return card
	}
	for _, c := range qa.Criteria {
		text := strings.TrimSuffix(c.Criterion+": "+c.Reasoning, ": ")
		if c.Passed {
			card.Pros = append(card.Pros, text)
		} else {
			card.Cons = append(card.Cons, text)
		}
	}
	if words := strings.Join(append([]string{qa.Feedback}, qa.Notes...), "\n\n"); strings.TrimSpace(words) != "" {
		card.Quote = &page.Turn{Who: cmp.Or(qa.By, "Review"), What: qa.Outcome, Text: words}
	}
	return card
}

// costsSection shows which tasks took the money.
func costsSection(b *blackboard.Board) page.Section {
	s := page.Section{ID: "costs", Title: "Cost of the tasks", Note: "in USD; the plan and the merges are not in it"}
	for i := range b.Tasks {
		if t := &b.Tasks[i]; t.Spent.Cost > 0 {
			s.Bars = append(s.Bars, page.Bar{Name: cmp.Or(t.Title, t.ID), Score: page.Score{Value: dollars(t.Spent), Max: dollars(b.Spent)}})
		}
	}
	return s
}

func dollars(u providers.Usage) float64 { return float64(u.Cost) / float64(providers.USD) }

// learnedSection shows the decisions and insights of the run.
func learnedSection(b *blackboard.Board) page.Section {
	decisions, insights := page.Step{Title: "Decisions"}, page.Step{Title: "Insights"}
	for _, d := range b.DesignLog {
		decisions.Turns = append(decisions.Turns, page.Turn{Who: d.Area, Text: strings.TrimSpace(d.Summary + "\n\n" + d.Reason)})
	}
	for _, i := range b.Insights {
		insights.Turns = append(insights.Turns, page.Turn{Who: cmp.Or(i.SourceTask, "Team"), What: strings.Join(i.Topic, ", "), Text: i.Summary})
	}
	return page.Section{ID: "learned", Title: "Decisions and insights", Steps: said(decisions, insights)}
}

// filesSection shows the artifacts of a run without worktrees, and those that have not
// passed.
func filesSection(o Outcome) page.Section {
	passed, others := page.Step{Title: "Passed"}, page.Step{Title: "Not passed"}
	for _, path := range slices.Sorted(maps.Keys(o.Files)) {
		passed.Turns = append(passed.Turns, page.Turn{Who: path, Text: o.Files[path]})
	}
	for _, task := range slices.Sorted(maps.Keys(o.Drafts)) {
		others.Turns = append(others.Turns, page.Turn{Who: task, Text: o.Drafts[task]})
	}
	return page.Section{ID: "files", Title: "Artifacts", Steps: said(passed, others)}
}

// said returns the steps that are not empty.
func said(steps ...page.Step) []page.Step {
	return slices.DeleteFunc(steps, func(s page.Step) bool { return len(s.Turns) == 0 })
}
