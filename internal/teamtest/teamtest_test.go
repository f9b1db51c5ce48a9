package teamtest_test

import (
	"testing"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/teamtest"
)

func TestMemory(t *testing.T) {
	teamtest.Sweep(t, func(testing.TB) blackboard.Store { return blackboard.NewMemory() })
}
