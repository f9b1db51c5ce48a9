package delivery

import (
	"fmt"
	"slices"
	"strings"
)

// medium is the complexity of a step that the planner gives no known one.
const medium = "medium"

// Plan is a list of steps towards the goal, or towards a step of another plan.
type Plan struct {
	ID               string     `json:"id"`                     // name of the plan: p1, p2, …
	Goal             string     `json:"goal"`                   // goal of the plan
	Analysis         string     `json:"analysis,omitempty"`     // planner's words about it
	Steps            []Step     `json:"steps"`                  // steps as the planner gave them
	Depth            int        `json:"depth"`                  // number of plans above it, 0 to Bounds.Depth
	ParentPlanID     string     `json:"parentPlanId,omitempty"` // ID of the plan whose step it is for; "": it is a root
	Status           StepStatus `json:"status"`                 // state in which it is
	Approved         bool       `json:"approved,omitempty"`     // true: it was executed
	Revisions        int        `json:"revisions,omitempty"`    // number of times that its rest was revised, or was to be
	CurrentStepIndex int        `json:"currentStepIndex"`       // index of the step that began last
}

// Step is one piece of work of a plan.
type Step struct {
	ID           string      `json:"id"`                     // plan and number: p1.s1
	Number       int         `json:"number"`                 // number that the planner gave it
	Description  string      `json:"description"`            // task in words
	Complexity   string      `json:"complexity"`             // "simple", "medium" or "complex"
	DependsOn    []int       `json:"dependsOn,omitempty"`    // numbers of steps of the same plan that come before it
	Status       StepStatus  `json:"status"`                 // state in which it is
	Depth        int         `json:"depth"`                  // depth of its plan
	ParentStepID string      `json:"parentStepId,omitempty"` // ID of the step that its plan is for; "": none
	SubSteps     []string    `json:"subSteps,omitempty"`     // IDs of the steps of its sub-plan
	Attempts     int         `json:"attempts"`               // number of attempts so far
	MaxAttempts  int         `json:"maxAttempts"`            // number of attempts that Retries allow; 0: another Retrier decides
	Code         *CodeOutput `json:"code,omitempty"`         // last code; nil: there is none
	Tests        *TestResult `json:"tests,omitempty"`        // last result of tests; nil: there is none
	Verification *Verdict    `json:"verification,omitempty"` // verdict on the step; nil: there is none
	FailReason   string      `json:"failReason,omitempty"`   // why it failed or was skipped
}

// skipped reports whether a step is blocked because one that it needs failed; a step that
// is blocked after an attempt has a running sub-plan.
func (s Step) skipped() bool { return s.Status == StepBlocked && s.Attempts == 0 }

// lost reports whether a step failed or was skipped.
func (s Step) lost() bool { return s.Status == StepFailed || s.skipped() }

// open reports whether a step is not finished.
func (s Step) open() bool { return s.Status != StepCompleted && !s.lost() }

// summary is a step without its code and tests.
func (s Step) summary() StepSummary {
	return StepSummary{s.ID, s.Description, s.Status, s.Attempts, s.FailReason}
}

// faults says why a plan is rejected without asking a model; rejected is the plan that
// was rejected before it, nil if there is none.
func (p Plan) faults(least, most int, rejected *Plan) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if n := len(p.Steps); n < least || n > most {
		bad("the plan has %d steps, want %d to %d", n, least, most)
	}
	count := map[int]int{}
	for _, s := range p.Steps {
		count[s.Number]++
	}
	for i, s := range p.Steps {
		if strings.TrimSpace(s.Description) == "" {
			bad("step %d has no description", s.Number)
		}
		if count[s.Number] > 1 && slices.IndexFunc(p.Steps, func(o Step) bool { return o.Number == s.Number }) == i {
			bad("the number %d is used by %d steps", s.Number, count[s.Number])
		}
		for _, needed := range s.DependsOn {
			if needed == s.Number {
				bad("step %d depends on itself", s.Number)
			} else if count[needed] == 0 {
				bad("step %d depends on step %d, which is not in the plan", s.Number, needed)
			}
		}
	}
	if len(faults) == 0 {
		if waiting := circle(p.Steps); waiting != nil {
			bad("steps %s wait for each other", join(waiting))
		}
	}
	if rejected != nil && p.same(*rejected) {
		bad("the plan is the one that was rejected")
	}
	return faults
}

// same reports whether two steps are the same work.
func (s Step) same(o Step) bool {
	return s.Number == o.Number && s.Description == o.Description && s.Complexity == o.Complexity && slices.Equal(s.DependsOn, o.DependsOn)
}

// same reports whether two plans have the same steps.
func (p Plan) same(other Plan) bool {
	return slices.EqualFunc(p.Steps, other.Steps, func(a, b Step) bool {
		return a.same(b)
	})
}

// circle returns the numbers of steps that wait for each other, and of those that need them.
func circle(steps []Step) (numbers []int) {
	at, needs, needed := byNumber(steps), make([]int, len(steps)), make([][]int, len(steps))
	var free []int
	for i := range steps {
		for _, number := range steps[i].DependsOn {
			if j, known := at[number]; known {
				needs[i]++
				needed[j] = append(needed[j], i)
			}
		}
		if needs[i] == 0 {
			free = append(free, i)
		}
	}
	for ; len(free) > 0; free = free[1:] {
		for _, i := range needed[free[0]] {
			if needs[i]--; needs[i] == 0 {
				free = append(free, i)
			}
		}
	}
	for i := range steps {
		if needs[i] > 0 {
			numbers = append(numbers, steps[i].Number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// join lists numbers in words.
func join(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

// unmet says why a root plan cannot have met the goal, without asking an agent;
// acceptable is how many of its steps may have failed or been skipped.
func (p Plan) unmet(acceptable int) string {
	var lost, open []int
	for _, s := range p.Steps {
		switch {
		case s.lost():
			lost = append(lost, s.Number)
		case s.open():
			open = append(open, s.Number)
		}
	}
	switch {
	case len(open) > 0:
		return "not finished: steps " + join(open)
	case len(lost) > acceptable:
		return fmt.Sprintf("failed or skipped: steps %s; %d may be", join(lost), acceptable)
	}
	return ""
}
