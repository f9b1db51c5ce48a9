package teamtest_test

import (
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/teamtest"
)

func TestMemory(t *testing.T) {
	teamtest.Sweep(t, func(testing.TB) runlog.Store { return runlog.NewMemory() })
}
