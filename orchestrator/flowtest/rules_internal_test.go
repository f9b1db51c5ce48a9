package flowtest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/routing"
)

// rulesOf is a Config with a rule in every place where one may be.
type rulesOf struct {
	Rules struct {
		Router    orchestrator.Router
		Analyzer  routing.Analyzer
		Selector  routing.Selector
		Scheduler routing.Scheduler
		Threshold grading.Threshold
		Retrier   orchestrator.Retrier
		Permit    orchestrator.Permit
		Ranker    grading.Ranker
		Gates     *struct {
			Attempt grading.Gate[grading.Standing, grading.Decision]
		}
	}
	Parts []struct{ Scorer grading.Scorer }
}

// check returns the faults of the rules of a Config, each with the path of its rule.
func check(cfg any) (faults []string) {
	for _, r := range findRules(reflect.ValueOf(cfg), "") {
		for _, f := range r.faults([]string{"declared"}) {
			faults = append(faults, r.path+": "+f)
		}
	}
	return faults
}

func TestDefaultsPassAllChecks(t *testing.T) {
	var c rulesOf
	c.Rules.Router, c.Rules.Analyzer, c.Rules.Selector = orchestrator.ByKeywords(routing.DefaultKeywords), routing.Rules{}, routing.ByWords{}
	c.Rules.Scheduler, c.Rules.Threshold, c.Rules.Retrier = routing.Preference{Phases: []string{"b"}, AgeEvery: 60e9}, grading.Adaptive{Fixed: grading.DefaultFixed}, orchestrator.Attempts{}
	c.Rules.Permit, c.Rules.Ranker = orchestrator.AskFirst{}, grading.ByScore{Last: true}
	c.Rules.Gates = &struct {
		Attempt grading.Gate[grading.Standing, grading.Decision]
	}{grading.Hysteresis{Bands: grading.DefaultBands}}
	c.Parts = []struct{ Scorer grading.Scorer }{{grading.DefaultApproval}, {grading.Mean{}}, {grading.DefaultDimensions}}
	var paths []string
	for _, r := range findRules(reflect.ValueOf(c), "") {
		paths = append(paths, r.path)
	}
	assert.Equal(t, []string{
		"Rules.Router", "Rules.Analyzer", "Rules.Selector", "Rules.Scheduler", "Rules.Threshold", "Rules.Retrier", "Rules.Permit",
		"Rules.Ranker", "Rules.Gates.Attempt", "Parts.Scorer", "Parts.Scorer", "Parts.Scorer",
	}, paths)
	assert.Empty(t, check(c))

	c.Rules.Router, c.Rules.Selector, c.Rules.Scheduler = orchestrator.RouteBy(routing.DefaultKeywords), routing.BySkill{}, routing.Preference{}
	assert.Empty(t, check(c))
	assert.Empty(t, findRules(reflect.ValueOf(rulesOf{}), ""), "nil rules are none")
}

func TestFaultsOfRules(t *testing.T) {
	calls := 0
	type one[R any] struct{ Rule R }
	router := func(f func(targets []routing.Target) routing.Route) any {
		return one[orchestrator.Router]{orchestrator.RouteBy(routing.RouterFunc(func(_ string, targets []routing.Target) (routing.Route, error) { return f(targets), nil }))}
	}
	selector := func(f func(c []routing.Candidate) []routing.Candidate) any {
		return one[routing.Selector]{routing.SelectorFunc(func(c []routing.Candidate, _ routing.Need) []routing.Candidate { return f(c) })}
	}
	scheduler := func(f func(ready []routing.Node) []routing.Node) any {
		return one[routing.Scheduler]{routing.SchedulerFunc(func(ready []routing.Node, _ routing.Moment) []routing.Node { return f(ready) })}
	}
	retrier := func(f func(tries []orchestrator.Try) orchestrator.Again) any {
		return one[orchestrator.Retrier]{orchestrator.RetrierFunc(func(_ orchestrator.Working, tries []orchestrator.Try) orchestrator.Again { return f(tries) })}
	}
	gate := func(f func(s grading.Standing) grading.Decision) any {
		return one[grading.Gate[grading.Standing, grading.Decision]]{grading.GateWith(f)}
	}
	for name, tt := range map[string]struct {
		cfg  any
		want string
	}{
		"a rule that remembers":           {gate(func(grading.Standing) grading.Decision { calls++; return grading.Decision(fmt.Sprint(calls)) }), "it gave two answers: "},
		"a gate that panics":              {gate(func(s grading.Standing) grading.Decision { return grading.Decision(fmt.Sprint(s.Before[0])) }), "it panicked: runtime error: index out of range"},
		"a rule that changes what it got": {gate(func(s grading.Standing) grading.Decision { clear(s.Before); return "" }), "it changed its arguments"},
		"a route to nobody":               {router(func([]routing.Target) routing.Route { return routing.Route{Primary: "x"} }), `"x" is no target`},
		"a route to a barred target":      {router(func(t []routing.Target) routing.Route { return routing.Route{Primary: t[min(1, len(t)-1)].ID} }), `"t1" is barred`},
		"a router that wants a target":    {router(func(t []routing.Target) routing.Route { return routing.Route{Primary: t[0].ID} }), "it panicked: runtime error: index out of range"},
		"a selector takes too many":       {selector(slices.Clone), "candidates, want at most 0"},
		"a selector takes inactive ones":  {selector(slices.Clone), "inactive or there twice"},
		"a selector sorts in place":       {selector(func(c []routing.Candidate) []routing.Candidate { slices.Reverse(c); return nil }), "it changed its arguments"},
		"a scheduler doubles":             {scheduler(func(r []routing.Node) []routing.Node { return slices.Concat(r, r) }), "not ready or there twice"},
		"a scheduler goes by the order":   {scheduler(func(r []routing.Node) []routing.Node { return r }), "depends on the order given"},
		"a scheduler makes nodes up":      {scheduler(func([]routing.Node) []routing.Node { return []routing.Node{{ID: "x"}} }), `it orders "x"`},
		"a retrier never says no":         {retrier(func([]orchestrator.Try) orchestrator.Again { return orchestrator.Again{Retry: true} }), "after 100 tries"},
		"a retrier names a stranger":      {retrier(func([]orchestrator.Try) orchestrator.Again { return orchestrator.Again{Agent: "x"} }), `it names the agent "x"`},
		"a retrier throws dice": {retrier(func([]orchestrator.Try) orchestrator.Again {
			calls++
			return orchestrator.Again{Feedback: fmt.Sprint(calls)}
		}), "it gave two answers after 1 tries"},
		"a scorer returns NaN":   {one[grading.Scorer]{grading.ScorerFunc(func(grading.Marks) (float64, error) { return math.NaN(), nil })}, "is NaN, want a number or an error"},
		"a ranker loses entries": {one[grading.Ranker]{grading.RankerFunc(func([]grading.Ranked) []grading.Ranked { return nil })}, "it returns 0 entries for 1"},
		"a negative estimate":    {one[routing.Analyzer]{routing.AnalyzerFunc(func(string, []string) routing.Analysis { return routing.Analysis{Estimate: -1} })}, "the Estimate is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			faults := check(tt.cfg)
			require.NotEmpty(t, faults)
			assert.Contains(t, strings.Join(faults, "\n"), tt.want)
			assert.True(t, strings.HasPrefix(faults[0], "Rule: "), faults[0])
		})
	}
	assert.Empty(t, check(retrier(func(tries []orchestrator.Try) orchestrator.Again {
		return orchestrator.Again{Retry: len(tries) < orchestrator.MaxTries, Agent: "declared"}
	})))
}
