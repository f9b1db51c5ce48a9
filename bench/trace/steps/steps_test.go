package steps_test

import (
	"slices"
	"testing"

	"github.com/convene-go/convene/bench/trace/steps"
)

func TestSteps(t *testing.T) {
	steps.Enter("before")
	steps.Start()
	steps.Enter("b")
	steps.Enter("a")
	steps.Enter("b")
	if got, want := steps.Stop(), []string{"b", "a"}; !slices.Equal(got, want) {
		t.Errorf("entered %q, want %q", got, want)
	}
	steps.Enter("after")
	steps.Start()
	if got := steps.Stop(); len(got) > 0 {
		t.Errorf("entered %q, want nothing", got)
	}
}
