package flowtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/convene-go/convene/orchestrator"
)

// Rules checks the rules that a host sets in the Config of a team, and the team with them.
// config makes the Config, newFlow is the New of the team, and c the case that is run; the
// flow of c is replaced.
//
// A rule is a field of an interface of one method, at any depth of the Config, that is not
// nil: a Router, a Gate, a Retrier, a Scheduler and so on. First each pure rule is called
// with odd arguments: nothing, one thing, 10,000 things, NaN, infinities, texts of all
// scripts. It must not panic, must give equal answers to equal arguments, and must not
// change what it gets. Besides:
//
//   - A Router's answer is one that Route.Check accepts, or an error.
//   - A Selector selects at most as many as are wanted, each once, and none that is inactive.
//   - A Scheduler returns some of the ready nodes, each once, in an order that does not depend
//     on the order given.
//   - A Retrier says no within [orchestrator.MaxTries], and names declared agents only.
//   - A Scorer's score is a number, or an error.
//   - A Ranker returns each entry once.
//
// Then come [Case.Sweep] and [Case.Determinism]. config is called for each process: a rule
// that remembers earlier calls has forgotten them after a restart, and so fails here. Rules
// with a Context, such as a Permit, are checked only by these two.
//
// Rules that only hold for the scale of the team get figures of other scales, too.
func Rules[Config, In, Out any](t *testing.T, config func() Config, newFlow func(Config) (orchestrator.Flow[In, Out], error), c *Case[In, Out]) {
	t.Helper()
	make := func(t testing.TB) orchestrator.Flow[In, Out] {
		t.Helper()
		f, err := newFlow(config())
		if err != nil {
			t.Fatalf("the Config has faults: %v", err)
		}
		return f
	}
	own := *c
	own.flow, own.anew = make(t), make
	found := findRules(reflect.ValueOf(config()), "")
	if len(found) == 0 {
		t.Fatal("the Config has no rules: each is nil")
	}
	for _, r := range found {
		t.Run(r.path, func(t *testing.T) {
			for _, fault := range r.faults(own.flow.Agents) {
				t.Error(fault)
			}
		})
	}
	t.Run("sweep", own.Sweep)
	t.Run("determinism", own.Determinism)
}

// seam is a rule of a Config.
type seam struct {
	path   string // path of its field
	method reflect.Value
	of     any
}

// findRules returns the rules in v, which is at path.
func findRules(v reflect.Value, path string) (found []seam) {
	switch v.Kind() { //nolint:exhaustive // the others hold no rules
	case reflect.Interface:
		if isRule(v.Type()) && !v.IsNil() {
			return []seam{{path, v.Elem().MethodByName(v.Type().Method(0).Name), v.Elem().Interface()}}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return findRules(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				found = append(found, findRules(v.Field(i), strings.TrimPrefix(path+"."+field.Name, "."))...)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			found = append(found, findRules(v.Index(i), path)...)
		}
	}
	return found
}

// isRule reports whether t is an interface of one method that is not from the standard
// library.
func isRule(t reflect.Type) bool {
	first, _, _ := strings.Cut(t.PkgPath(), "/")
	return t.Kind() == reflect.Interface && t.NumMethod() == 1 && strings.Contains(first, ".")
}

// isPure reports whether a method takes no Context.
func isPure(method reflect.Type) bool {
	return !slices.ContainsFunc(slices.Collect(method.Ins()), func(in reflect.Type) bool { return in == reflect.TypeFor[*orchestrator.Context]() })
}
