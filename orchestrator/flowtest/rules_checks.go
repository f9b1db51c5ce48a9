package flowtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/routing"
)

// faults returns what is wrong with a rule. agents are those that the flow declares; nil: it
// declares none.
func (r seam) faults(agents []string) (faults []string) {
	of := r.of
	if wrapped, ok := of.(interface{ Unwrap() routing.Router }); ok {
		of = wrapped.Unwrap()
		r.method = reflect.ValueOf(of).MethodByName("Route")
	}
	if retrier, ok := of.(orchestrator.Retrier); ok {
		return guarded(func() []string { return retrierFaults(retrier, agents) })
	}
	if isPure(r.method.Type()) {
		faults = oddities(r.method)
	}
	return append(faults, guarded(func() []string { return specialFaults(of) })...)
}

// specialFaults returns how a rule breaks the contract of its interface.
func specialFaults(of any) []string {
	switch of := of.(type) {
	case orchestrator.ByKeywords:
		return routerFaults(routing.Keywords(of))
	case routing.Router:
		return routerFaults(of)
	case routing.Selector:
		return selectorFaults(of)
	case routing.Scheduler:
		return schedulerFaults(of)
	case routing.Analyzer:
		if n := of.Analyze("Write a scene.", []string{"plot"}).Estimate; n < 0 {
			return []string{fmt.Sprintf("the Estimate is %d, want 0 or more", n)}
		}
	case grading.Scorer:
		return scorerFaults(of)
	case grading.Ranker:
		return rankerFaults(of)
	}
	return nil
}

// guarded returns what check returns, or its panic as a fault.
func guarded(check func() []string) (faults []string) {
	defer func() {
		if p := recover(); p != nil {
			faults = append(faults, fmt.Sprintf("it panicked: %v", p))
		}
	}()
	return check()
}

func routerFaults(r routing.Router) (faults []string) {
	for _, n := range []int{1, 3, many} {
		targets := make([]routing.Target, n)
		for i := range targets {
			targets[i] = routing.Target{ID: "t" + strconv.Itoa(i), Priority: i % 3, Base: 10, About: "writes things", Keywords: map[string]int{"scene": 30}, Barred: i%3 == 1}
		}
		for _, request := range oddTexts {
			route, err := r.Route(request, targets)
			if err != nil {
				continue
			}
			if err := route.Check(targets); err != nil {
				faults = append(faults, fmt.Sprintf("its route for %q and %d targets is no route: %v", shortened(request), n, err))
			}
		}
	}
	return faults
}

func selectorFaults(s routing.Selector) (faults []string) {
	for _, n := range []int{0, 1, 5, many} {
		candidates := make([]routing.Candidate, n)
		for i := range candidates {
			candidates[i] = routing.Candidate{ID: "c" + strconv.Itoa(i), Skills: []string{"plot"}, About: "writes plots", Inactive: i%3 == 1}
		}
		for _, count := range []int{0, 1, 3, many} {
			given := slices.Clone(candidates)
			selected := s.Select(given, routing.Need{Brief: "a plot", Skills: []string{"plot"}, Count: count})
			if !reflect.DeepEqual(given, candidates) {
				return append(faults, "it changed its arguments")
			}
			seen := map[string]bool{}
			for _, c := range selected {
				i, err := strconv.Atoi(c.ID[min(1, len(c.ID)):])
				if err != nil || i >= n || seen[c.ID] || c.Inactive {
					faults = append(faults, fmt.Sprintf("it selected %q of %d candidates, which is none of them, inactive or there twice", c.ID, n))
				}
				seen[c.ID] = true
			}
			if len(selected) > count {
				faults = append(faults, fmt.Sprintf("it selected %d candidates, want at most %d", len(selected), count))
			}
		}
	}
	return faults
}

func schedulerFaults(s routing.Scheduler) (faults []string) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dice := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, many} {
		ready := make([]routing.Node, n)
		for i := range ready {
			ready[i] = routing.Node{
				ID: "n" + strconv.Itoa(i), Number: i, State: routing.Ready, Priority: dice.IntN(3), Estimate: int64(dice.IntN(3)),
				Phase: []string{"a", "b"}[dice.IntN(2)], Created: t0, Since: t0.Add(time.Duration(dice.IntN(9)) * time.Minute),
			}
		}
		at := routing.Moment{Now: t0.Add(time.Hour), Active: []routing.Node{{ID: "active", State: routing.Active}}}
		ids := func() (ids []string) {
			for _, node := range s.Order(slices.Clone(ready), at) {
				ids = append(ids, node.ID)
			}
			return ids
		}
		first := ids()
		seen := map[string]bool{}
		for _, id := range first {
			i, err := strconv.Atoi(id[min(1, len(id)):])
			if err != nil || i >= n || seen[id] {
				faults = append(faults, fmt.Sprintf("it orders %q, which is not ready or there twice", id))
			}
			seen[id] = true
		}
		dice.Shuffle(n, func(i, j int) { ready[i], ready[j] = ready[j], ready[i] })
		if !slices.Equal(first, ids()) {
			faults = append(faults, fmt.Sprintf("its order of %d nodes depends on the order given: let Node.Number decide last", n))
		}
	}
	return faults
}

func retrierFaults(r orchestrator.Retrier, agents []string) (faults []string) {
	kinds := []orchestrator.Try{
		{Agent: "a", Err: errors.New("oops")},
		{Agent: "a", Err: agent.Transient(errors.New("busy"), time.Minute)},
		{Agent: "a", Score: new(50.0), Decision: "revise", Feedback: "more"},
		{Agent: "a", Score: new(math.NaN()), Decision: "discard"},
		{},
	}
	for _, role := range []string{"", "refine", "specialist", "head", "worker", "task", "merge", "step", "plan"} {
		for k, kind := range kinds {
			of := orchestrator.Working{Role: role, ID: "a", Max: []int{0, 1, 4, math.MaxInt}[k%4]}
			var tries []orchestrator.Try
			for n := 0; ; n++ {
				if n == orchestrator.MaxTries {
					faults = append(faults, fmt.Sprintf("it says yes to %+v after %d tries", of, n))
					break
				}
				tries = append(tries, kind)
				first, second := r.Next(of, slices.Clone(tries)), r.Next(of, slices.Clone(tries))
				if first != second {
					return append(faults, fmt.Sprintf("it gave two answers after %d tries: %+v and %+v", len(tries), first, second))
				}
				if first.Agent != "" && agents != nil && !slices.Contains(agents, first.Agent) {
					return append(faults, fmt.Sprintf("it names the agent %q, which the flow does not declare: give the rule a method Agents() []string", first.Agent))
				}
				if !first.Retry {
					break
				}
			}
		}
	}
	return faults
}

func scorerFaults(s grading.Scorer) (faults []string) {
	for n := range edges {
		marks := edge(reflect.TypeFor[grading.Marks](), n, 0).Interface().(grading.Marks) //nolint:errcheck,forcetypeassert // it is of that type
		if score, err := s.Score(marks); err == nil && (math.IsNaN(score) || math.IsInf(score, 0)) {
			faults = append(faults, fmt.Sprintf("its score of %s is %v, want a number or an error", shortened(fmt.Sprint(marks)), score))
		}
	}
	return faults
}

func rankerFaults(r grading.Ranker) (faults []string) {
	for n := range edges {
		entries := edge(reflect.TypeFor[[]grading.Ranked](), n, 0).Interface().([]grading.Ranked) //nolint:errcheck,forcetypeassert // it is of that type
		ids := func(entries []grading.Ranked) (ids []string) {
			for _, e := range entries {
				ids = append(ids, e.ID)
			}
			slices.Sort(ids)
			return ids
		}
		if got, want := ids(r.Rank(slices.Clone(entries))), ids(entries); !slices.Equal(got, want) {
			faults = append(faults, fmt.Sprintf("it returns %d entries for %d, want each once", len(got), len(want)))
		}
	}
	return faults
}
