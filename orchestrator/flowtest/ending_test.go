package flowtest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Where a run is killed, a call may or may not have been made that it gives up: what must
// be the same is the rest.
func TestWhatIsComparedOfWhatWasSpent(t *testing.T) {
	used := providers.Usage{Calls: 3, Cost: 7}
	ended := func(s engine.Status) engine.CalledData {
		return engine.CalledData{Response: &agent.Response{Data: agent.JSON(engine.End{Status: s}), Usage: used}}
	}
	for name, tt := range map[string]struct {
		data engine.CalledData
		want providers.Usage
	}{
		"an answer":                 {engine.CalledData{Response: &agent.Response{Text: "canceled", Usage: used}}, used},
		"a failure":                 {engine.CalledData{Err: &agent.Error{Message: "bad", Usage: used}}, used},
		"a call that was given up":  {engine.CalledData{Err: &agent.Error{Codes: []agent.Code{engine.ErrCanceled}, Usage: used}}, providers.Usage{}},
		"a child that is complete":  {ended(engine.Completed), used},
		"a child that has failed":   {ended(engine.Failed), used},
		"a child that was canceled": {ended(engine.Canceled), providers.Usage{}},
	} {
		log := []runlog.Record{{Kind: runlog.Called, Data: agent.JSON(tt.data)}}
		assert.Equal(t, tt.want, spent(t, log, used), name)
	}
}
