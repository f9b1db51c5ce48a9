package delivery_test

import (
	"fmt"
	"slices"
	"time"
)

// step does a step: attempts, then a sub-plan; false: it has failed.
func (d *dumb) step(s *dumbStep, depth int, end time.Duration) bool {
	s.status = "begun"
	fix := max(0, end-d.now) / 100 * 30
	for {
		s.tries++
		switch d.attempt(s, end, fix) {
		case "good":
			return true
		case "lost", "late":
			return false
		case "stuck":
			return d.descend(s, depth, end)
		}
		if s.tries >= d.attempts {
			return d.descend(s, depth, end)
		}
	}
}

// code asks for code: "" if there is some, else bad, stuck or late.
func (d *dumb) code(kind, request string, s *dumbStep, end time.Duration) (answer int, state string) {
	if d.look(s.id, end) {
		return 0, "late"
	}
	n, state := d.ask(kind, request, "CODE_RESPONSE", s.id, end)
	switch state {
	case "none":
		return 0, "bad"
	case "late":
		return 0, "late"
	}
	d.changed = true
	answer = d.coded(kind, n)
	return answer, []string{"", "bad", "stuck", ""}[answer]
}

// attempt makes one attempt at a step: good, bad, stuck, lost or late.
func (d *dumb) attempt(s *dumbStep, end, fix time.Duration) string {
	answer, state := d.code("code", "CODE_REQUEST", s, end)
	if state != "" {
		return state
	}
	if answer == 3 {
		return d.judge(s.id, "bad", -1)
	}
	if state = d.verify("code", s.id, end); state != "good" {
		return state
	}
	fixEnd := time.Duration(0)
	for fixes := 0; ; {
		if state = d.test("check", s.id, end); state != "bad" {
			break
		}
		if fixEnd == 0 {
			fixEnd = d.after(fix)
		}
		for fixed := false; !fixed; {
			if fixes == d.fixes {
				if d.subPlanOnFailure {
					return "stuck"
				}
				return "lost"
			}
			if d.late(min(fixEnd, end)) {
				return "late"
			}
			fixes++
			d.metrics.FixCycles++
			d.say("FIX_PLAN", s.id)
			d.changed = true
			_, state = d.code("fix", "CODE_FIX_REQUEST", s, end)
			if state == "" {
				state = d.verify("code", s.id, end) // the tests of the attempt are there still
			}
			if state == "stuck" || state == "late" {
				return state
			}
			fixed = state == "good"
		}
	}
	if state == "good" {
		state = d.finish(s, end)
	}
	return state
}

// finish has a step judged whose tests pass.
func (d *dumb) finish(s *dumbStep, end time.Duration) string {
	state := d.verify("step", s.id, end)
	if state == "good" {
		d.say("STEP_COMPLETE", s.id)
	}
	return state
}

// test says whether tests pass, and their report does: good, bad or late.
func (d *dumb) test(kind, target string, until time.Duration) string {
	if d.look(target, until) {
		return "late"
	}
	n, state := d.ask(kind, "TEST_REQUEST", "TEST_RESPONSE", target, until)
	switch state {
	case "none":
		return "bad"
	case "late":
		return "late"
	}
	d.changed = true
	passes, coverage := d.report(kind, n)
	if d.coverage > 0 && coverage < d.coverage {
		passes = false
	}
	if !d.skipReview {
		if state = d.verify("test", target, until); state != "good" {
			return state
		}
	}
	if passes {
		return "good"
	}
	return "bad"
}

// descend does a blocked step by a sub-plan.
func (d *dumb) descend(s *dumbStep, depth int, end time.Duration) bool {
	if depth == d.depth || d.late(end) {
		return false
	}
	d.say("STEP_BLOCKED", s.id)
	p, ok := d.makePlan("subplan", s.id, depth+1, end)
	return ok && d.execute(p, depth+1, end) && d.test("check", s.id, end) == "good" && d.finish(s, end) == "good"
}

// revise has the rest of a root plan revised after a step.
func (d *dumb) revise(p *dumbPlan, s *dumbStep, until time.Duration) {
	pending, failed, named := []*dumbStep{}, 0, false
	begun := []*dumbStep{}
	taken := map[int]int{}
	for _, o := range p.steps {
		if o.status == "failed" {
			failed++
		}
		if o.status == "pending" {
			pending = append(pending, o)
			named = named || slices.Contains(d.named[s.id], o.number)
		} else {
			begun = append(begun, o)
			taken[o.number] = o.number
		}
	}
	if s.status == "completed" && !named || p.used == d.revisions || len(pending) == 0 || failed >= d.failedSteps || d.now >= min(until, d.limitTime()) {
		return
	}
	p.used++
	d.asked++
	d.metrics.ReplanCount++
	n, state := d.ask("revise", "PLAN_REQUEST", "PLAN_RESPONSE", p.id, until)
	if state != "" {
		return
	}
	d.changed = true
	answer := d.plan("revise", n)
	free, fits := 1, len(begun)+len(answer) <= 6
	for _, a := range answer { // numbers rise
		if _, used := taken[a.number]; used {
			fits = false
		}
	}
	to := map[int]int{}
	for _, a := range answer {
		for slices.ContainsFunc(begun, func(o *dumbStep) bool { return o.number == free }) {
			free++
		}
		to[a.number] = free
		free++
	}
	rest := []*dumbStep{}
	for _, a := range answer {
		needs := []int{}
		for _, n := range a.needs {
			number, fresh := to[n]
			old, known := taken[n]
			switch {
			case n == a.number, !fresh && !known:
				fits = false
			case fresh:
				needs = append(needs, number)
			default:
				needs = append(needs, old)
			}
		}
		rest = append(rest, &dumbStep{drawn{to[a.number], a.words, needs}, fmt.Sprint(p.id, ".s", to[a.number]), "pending", 0})
	}
	if !fits {
		d.judge(p.id, "bad", -1)
	} else if d.verify("plan", p.id, until) == "good" {
		p.steps = append(begun, rest...)
	}
}

// goal judges a root plan that was executed.
func (d *dumb) goal(steps []*dumbStep) (reached, again bool) {
	d.late(endless)
	d.lost = 0
	open := false
	for _, s := range steps {
		open = open || s.status == "pending"
		if s.status != "completed" {
			d.lost++
		}
	}
	if open || d.lost > d.acceptable || d.test("integrate", "goal", endless) != "good" {
		d.judge("goal", "bad", -1)
		return false, true
	}
	if before := len(d.levels); d.verify("goal", "goal", endless) != "good" {
		return false, true
	} else if len(d.levels) == before {
		return false, false // it has no grade
	}
	d.say("GOAL_COMPLETE", "goal")
	return true, false
}
