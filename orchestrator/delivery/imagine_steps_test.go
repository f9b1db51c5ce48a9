package delivery_test

import (
	"fmt"
	"slices"
)

// step does a step: attempts, then a sub-plan; false: it has failed.
func (d *dumb) step(s *dumbStep, depth int) bool {
	for try := 1; ; try++ {
		switch d.attempt(s) {
		case "good":
			return true
		case "lost":
			return false
		case "stuck":
			return d.descend(s, depth)
		}
		if try == d.attempts {
			return d.descend(s, depth)
		}
	}
}

// attempt makes one attempt at a step.
func (d *dumb) attempt(s *dumbStep) string {
	switch d.coded("code", d.ask("code", "CODE_REQUEST", "CODE_RESPONSE", s.id)) {
	case 1:
		return "bad"
	case 2:
		return "stuck"
	case 3:
		d.judge(s.id, false, -1)
		return "bad"
	}
	if !d.verify("code", s.id) {
		return "bad"
	}
	for fixes := 0; !d.test("check", s.id); {
		for fixed := false; !fixed; {
			if fixes == d.fixes {
				if d.subPlanOnFailure {
					return "stuck"
				}
				return "lost"
			}
			fixes++
			d.metrics.FixCycles++
			d.say("FIX_PLAN", s.id)
			switch d.coded("fix", d.ask("fix", "CODE_FIX_REQUEST", "CODE_RESPONSE", s.id)) {
			case 1: // blocked: no fix
			case 2:
				return "stuck"
			default: // the tests of the attempt are there still
				fixed = d.verify("code", s.id)
			}
		}
	}
	if d.verify("step", s.id) {
		d.say("STEP_COMPLETE", s.id)
		return "good"
	}
	return "bad"
}

// test reports whether tests pass, and their report does.
func (d *dumb) test(kind, target string) bool {
	passes, coverage := d.report(kind, d.ask(kind, "TEST_REQUEST", "TEST_RESPONSE", target))
	if d.coverage > 0 && coverage < d.coverage {
		passes = false
	}
	return (d.skipReview || d.verify("test", target)) && passes
}

// descend does a blocked step by a sub-plan.
func (d *dumb) descend(s *dumbStep, depth int) bool {
	if depth == d.depth {
		return false
	}
	d.say("STEP_BLOCKED", s.id)
	p, ok := d.makePlan("subplan", s.id, depth+1)
	if !ok || !d.execute(p, depth+1) || !d.test("check", s.id) || !d.verify("step", s.id) {
		return false
	}
	d.say("STEP_COMPLETE", s.id)
	return true
}

// revise has the rest of a root plan revised after a step.
func (d *dumb) revise(p *dumbPlan, s *dumbStep) {
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
	if s.status == "completed" && !named || p.used == d.revisions || len(pending) == 0 || failed >= d.failedSteps {
		return
	}
	p.used++
	d.asked++
	d.metrics.ReplanCount++
	answer := d.plan("revise", d.ask("revise", "PLAN_REQUEST", "PLAN_RESPONSE", p.id))
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
		rest = append(rest, &dumbStep{drawn{to[a.number], a.words, needs}, fmt.Sprint(p.id, ".s", to[a.number]), "pending"})
	}
	if fits && d.verify("plan", p.id) {
		p.steps = append(begun, rest...)
	} else if !fits {
		d.judge(p.id, false, -1)
	}
}

// goal judges a root plan that was executed.
func (d *dumb) goal(steps []*dumbStep) bool {
	d.lost = 0
	open := false
	for _, s := range steps {
		open = open || s.status == "pending"
		if s.status != "completed" {
			d.lost++
		}
	}
	if open || d.lost > d.acceptable || !d.test("integrate", "goal") {
		return d.judge("goal", false, -1)
	}
	if !d.verify("goal", "goal") {
		return false
	}
	d.say("GOAL_COMPLETE", "goal")
	d.end = "completed"
	return true
}
